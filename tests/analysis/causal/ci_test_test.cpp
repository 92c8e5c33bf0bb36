// p-values against an established package: scipy 1.17.1 and statsmodels 0.15.0, computed on the table that `sample`
// makes from its seed (chi2_contingency by stratum, OLS residuals, Wilks' lambda; see docs/causal.md, "Where the
// reference values come from").
#include <catch2/catch.hpp>

#include "analysis/causal/ci_test.h"
#include "analysis/causal/random.h"
#include "analysis/causal/verify.h"

using namespace digd::causal;

namespace {

enum : variable { z, x, y, a, b, c };

table sample() {
  digd::splitmix_stream chance(42);
  std::vector<int> zs, xs, ys;
  std::vector<double> as, bs, cs;
  for (int i = 0; i < 120; ++i) {
    const int zi = static_cast<int>(chance.uniform() * 3);
    const int xi = static_cast<int>(chance.uniform() * 2 + (zi == 2) * 0.6);
    const int yi = static_cast<int>(chance.uniform() * 3 * 0.7 + xi * 0.5);
    const double ai = chance.uniform() + 0.5 * zi;
    const double bi = ai * 0.3 + chance.uniform();
    const double ci = chance.uniform() * 2 + bi * 0.2 + 0.3 * xi;
    zs.push_back(zi), xs.push_back(std::min(xi, 1)), ys.push_back(std::min(yi, 2));
    as.push_back(ai), bs.push_back(bi), cs.push_back(ci);
  }
  table out;
  out.add_discrete("z", zs);
  out.add_discrete("x", xs);
  out.add_discrete("y", ys);
  out.add_continuous("a", as);
  out.add_continuous("b", bs);
  out.add_continuous("c", cs);
  return out;
}

void same(const test_result& r, double statistic, double df, double p) {
  CHECK(r.statistic == Approx(statistic).epsilon(1e-9));
  CHECK(r.df == df);
  CHECK(r.p == Approx(p).epsilon(1e-8));
}

}  // namespace

TEST_CASE("g_squared_and_chi_squared_agree_with_scipy") {
  const table data = sample().select(variables{z, x, y});
  const auto g = make_discrete_test(data, discrete_statistic::g_squared);
  same(g->test(x, y, {}), 28.876869964229645, 2, 5.363735579684251e-07);
  same(g->test(x, y, {z}), 36.146010816686534, 6, 2.582224217372937e-06);
  same(g->test(z, y, {x}), 13.785134057786296, 8, 0.08754059817854533);
  const auto chi = make_discrete_test(data, discrete_statistic::chi_squared);
  same(chi->test(x, y, {}), 25.78885136021522, 2, 2.512014140717593e-06);
  same(chi->test(x, y, {z}), 28.163079424984186, 6, 8.754504534881966e-05);
}

TEST_CASE("an_empty_margin_removes_its_degrees_of_freedom") {
  table data;
  // Where s is 1, v never takes its third level: that stratum adds one degree of freedom, the other two.
  data.add_discrete("u", {0, 0, 1, 1, 0, 1, 0, 0, 1, 1});
  data.add_discrete("v", {0, 1, 2, 0, 2, 1, 0, 1, 0, 1});
  data.add_discrete("s", {0, 0, 0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(make_discrete_test(data, discrete_statistic::g_squared)->test(0, 1, {2}).df == 3);
}

TEST_CASE("the_degenerate_gaussian_test_agrees_with_wilks_lambda") {
  const table data = sample();
  const auto test = make_degenerate_gaussian(data);
  same(test->test(z, c, {}), 1.1052611625227333, 2, 0.5754340915054448);
  same(test->test(z, c, {a}), 0.29762848325452906, 2, 0.861729173441388);
  same(test->test(z, y, {x, b}), 4.262025690232399, 4, 0.3717044237985802);
  same(test->test(a, b, {z}), 10.322085400397924, 1, 0.001314476778918428);
}

TEST_CASE("tails_agree_with_scipy") {
  CHECK(chi_squared_tail(3.84, 1) == Approx(0.05004352124870519).epsilon(1e-12));
  CHECK(chi_squared_tail(25, 10) == Approx(0.005345505487134069).epsilon(1e-12));
  CHECK(chi_squared_tail(700, 100) == Approx(8.658230861323775e-91).epsilon(1e-9));
  CHECK(normal_two_sided(6) == Approx(1.973175290075389e-09).epsilon(1e-10));
}

TEST_CASE("paired_tests_agree_with_scipy") {
  const paired_test t = test_pairs({1.5, -0.3, 2.2, 0.9, -1.1, 3.0, 0.4, 1.7, -0.6, 2.6, 0.2, 1.2});
  CHECK(t.exact);
  CHECK(t.wilcoxon == 12);
  CHECK(t.wilcoxon_p == Approx(0.0341796875).epsilon(1e-12));
  CHECK(t.sign_p == Approx(0.14599609375).epsilon(1e-12));
  const paired_test ties = test_pairs({1, 1, 2, -1, 3, 2, 2, -1, 1, 1, -2, 3, 1, 1, 0, 2, -1, 1});
  CHECK_FALSE(ties.exact);
  CHECK(ties.wilcoxon == 29.5);
  CHECK(ties.wilcoxon_p == Approx(0.02376499376834129).epsilon(1e-10));
}
