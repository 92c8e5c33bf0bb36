#include <catch2/catch.hpp>

#include "analysis/shapley/faithfulness.h"
#include "analysis/shapley/metrics.h"
#include "analysis/shapley/report.h"
#include "analysis/shapley/trajectory.h"
#include "tests/analysis/shapley/support.h"

using namespace digd::shapley;

namespace {

// Two agents, three steps: φ(1,·) = 1, 3, -1 and φ(2,·) = 2, -1, 4.
cast two_by_three() {
  cast c;
  c.agent_names = {"one", "two"};
  c.behaviour_names = {"x", "y", "z"};
  c.steps = 3;
  const std::uint16_t x[1] = {0}, y[1] = {1}, xy[2] = {0, 1};
  c.add(0, 0, x, false);
  c.add(1, 0, y, false);
  c.add(0, 1, xy, false);
  c.add(1, 1, y, false);
  c.add(0, 2, x, false);
  c.add(1, 2, y, false);
  return c;
}
const std::vector<double> phi{1, 2, 3, -1, -1, 4};

}  // namespace

TEST_CASE("values_are_summed_by_step_agent_and_behaviour_and_two_types_split_an_action_evenly") {
  const cast c = two_by_three();
  CHECK(by_step(c, phi) == std::vector<double>{3, 2, 3});
  CHECK(by_agent(c, phi) == std::vector<double>{3, 5});
  CHECK(by_behaviour(c, phi) == std::vector<double>{1.5, 6.5, 0});
}

TEST_CASE("each_metric_is_its_formula") {
  const metrics m = measure(two_by_three(), phi, 5, 0.9);
  // Running sums 3, 5, 8; the first above 4.5 is at t = 2.
  CHECK(m.formed == 2u);
  CHECK(m.latency == Approx((3 - 2) / 3.0));
  // |3 - 5| twice, over 2·2·8.
  CHECK(m.agent_concentration == Approx(4.0 / 32));
  // 1.5, 6.5, 0: pairs 5, 1.5, 6.5, each twice, over 2·3·8.
  CHECK(m.behaviour_concentration == Approx(26.0 / 48));
  // Population deviations: of 1, 3, -1 about 1 and of 2, -1, 4 about 5/3.
  CHECK(m.instability[0] == Approx(std::sqrt(8.0 / 3)));
  CHECK(m.instability[1] == Approx(std::sqrt((1.0 / 9 + 64.0 / 9 + 49.0 / 9) / 3)));
  CHECK(m.instability_correlation == Approx(1));  // two points, both larger for the second
  CHECK(m.synchronization == Approx((3.0 / 3 + 2.0 / 4 + 3.0 / 5) / 3));
}

TEST_CASE("zero_denominators_give_zero") {
  const metrics m = measure(two_by_three(), std::vector<double>(6, 0.0), 1);
  CHECK(m.agent_concentration == 0);
  CHECK(m.behaviour_concentration == 0);
  CHECK(m.instability_correlation == 0);
  CHECK(m.synchronization == 0);
  CHECK(m.latency == 0);
  CHECK_FALSE(m.formed);
}

TEST_CASE("the_threshold_is_exceeded_not_reached") {
  CHECK(measure(two_by_three(), phi, 3, 1.0).formed == 2u);
  CHECK(measure(two_by_three(), phi, 2.99, 1.0).formed == 1u);
}

TEST_CASE("concentration_is_0_for_equal_shares_and_n_minus_1_over_n_for_a_single_one") {
  CHECK(gini(std::vector<double>{2, -2, 2, 2}) == Approx(0).margin(1e-15));
  CHECK(gini(std::vector<double>{0, 0, -7, 0}) == Approx(0.75));
}

TEST_CASE("an_action_whose_share_is_a_rounding_error_counts_in_no_metric") {
  // Step 1 holds only what rounding leaves; the metrics are those of the same values with exact zeros.
  const metrics exact = measure(two_by_three(), std::vector<double>{0, 0, 3, -1, 0, 4}, 5);
  const metrics rounded = measure(two_by_three(), std::vector<double>{3e-16, 2e-16, 3, -1, -1e-16, 4}, 5);
  CHECK(rounded.synchronization == Approx((2.0 / 4 + 1) / 3));
  CHECK(rounded.synchronization == exact.synchronization);
  CHECK(rounded.agent_concentration == exact.agent_concentration);
  CHECK(rounded.instability_correlation == exact.instability_correlation);
}

TEST_CASE("the_rounding_of_a_large_risk_hides_the_values_below_it") {
  const std::vector<double> rounding{1e-11, 2e-11, -1e-11, 3e-11, 0, 1e-11};
  CHECK(measure(two_by_three(), rounding, 1, usual_share, 1000).synchronization == 0);
  CHECK(measure(two_by_three(), rounding, 1, usual_share, 1000).agent_concentration == 0);
  CHECK(measure(two_by_three(), rounding, 1, usual_share, 1).synchronization > 0);
}

TEST_CASE("steps_in_which_nothing_matters_do_not_count_as_synchronized") {
  const generated made = generate({"socialnetwork", 3, 4, 5, 12}, false);
  const report r = make_report(*made.game, estimate(*made.game, shapley_tests::ask(estimator::exact)), usual_share, 1);
  CHECK(r.metrics.synchronization == Approx(0.390).margin(0.0005));
}

TEST_CASE("deleting_the_top_actions_lowers_the_risk_by_their_joint_share") {
  // Twelve players; four of them make half of the risk, the baseline has the other half.
  const shapley_tests::small_game g(
      12, [](const shapley_tests::set& s) { return 10.0 + 4 * s[2] + 3 * s[5] + 2 * s[7] + 1 * s[9]; });
  const estimate_result r = estimate(g, shapley_tests::ask(estimator::exact));
  const faithfulness f = judge(g, r.phi.value, 1);
  CHECK(f.shapley[0] == Approx(9.0 / 20));
  CHECK(f.shapley[1] == Approx(10.0 / 20));
  CHECK(f.leave_one_out[0] == Approx(9.0 / 20));
  CHECK(f.random[0] == Approx(0.125).margin(0.05));
}

TEST_CASE("a_run_without_risk_has_no_risk_to_drop") {
  const shapley_tests::small_game g(4, [](const shapley_tests::set& s) { return -5.0 + s[0]; });
  const faithfulness f = judge(g, std::vector<double>{1, 0, 0, 0}, 1);
  CHECK(f.shapley[0] == 0);
  CHECK(f.random[0] == 0);
}
