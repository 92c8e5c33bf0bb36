#include "analysis/causal/ci_test.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "analysis/causal/embedding.h"

namespace digd::causal {

double chi_squared_tail(double statistic, double df) {
  if (df <= 0 || !(statistic > 0)) return 1;
  if (statistic > 1400 + 4 * df) return 0;
  return boost::math::gamma_q(df / 2, statistic / 2);
}

double normal_two_sided(double z) { return boost::math::erfc(std::abs(z) / std::sqrt(2.0)); }

namespace {

class degenerate_gaussian final : public ci_test {
 public:
  explicit degenerate_gaussian(const table& data) : columns_(embed(data)) {}
  std::size_t size() const override { return columns_.groups.size(); }
  std::string_view name() const override { return "degenerate-gaussian"; }

  // −(n − 1 − |z| − (p + q + 1)/2) · ln( |S_xyz| |S_z| / (|S_xz| |S_yz|) ) on p·q degrees of freedom.
  test_result test(variable x, variable y, const variables& z) override {
    ++count_;
    variables yz = z;
    yz.push_back(y);
    const gaussian_fit without = columns_.residual(x, z), with = columns_.residual(x, yz);
    const gaussian_fit other = columns_.residual(y, z);
    const double p = static_cast<double>(without.rank), q = static_cast<double>(other.rank);
    if (p == 0 || q == 0) return {};
    const double scale = static_cast<double>(columns_.rows) - 1 - static_cast<double>(without.given) - (p + q + 1) / 2;
    if (scale <= 0) return {};
    const double statistic = std::max(0.0, scale * (without.log_det - with.log_det));
    return {statistic, p * q, chi_squared_tail(statistic, p * q)};
  }

 private:
  embedding columns_;
};

class oracle final : public ci_test {
 public:
  explicit oracle(pdag dag) : dag_(std::move(dag)) {}
  std::size_t size() const override { return dag_.size(); }
  std::string_view name() const override { return "d-separation"; }
  test_result test(variable x, variable y, const variables& z) override {
    ++count_;
    return d_separated(dag_, x, y, z) ? test_result{0, 1, 1} : test_result{1e6, 1, 0};
  }

 private:
  pdag dag_;
};

}  // namespace

std::unique_ptr<ci_test> make_degenerate_gaussian(const table& data) {
  return std::make_unique<degenerate_gaussian>(data);
}
std::unique_ptr<ci_test> make_oracle(const pdag& dag) { return std::make_unique<oracle>(dag); }

std::unique_ptr<ci_test> make_default_test(const table& data) {
  if (data.all_discrete()) return make_discrete_test(data, discrete_statistic::g_squared);
  return make_degenerate_gaussian(data);
}

}  // namespace digd::causal
