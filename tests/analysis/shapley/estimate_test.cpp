#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "analysis/shapley/purposes.h"
#include "analysis/shapley/trajectory.h"
#include "tests/analysis/shapley/support.h"

using namespace digd::shapley;
using namespace shapley_tests;

namespace {

const std::vector<estimator> all_estimators{estimator::exact, estimator::permutation, estimator::antithetic,
                                            estimator::owen, estimator::leverage};

double sum(const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

}  // namespace

TEST_CASE("exact_values_are_those_of_the_definition") {
  for (const std::size_t n : {1u, 2u, 3u, 5u, 8u, 11u}) {
    const value_function v = [](const set& s) { return bumpy(s, 3); };
    const estimate_result r = estimate(small_game(n, v), ask(estimator::exact));
    REQUIRE(r);
    const std::vector<double> truth = by_definition(n, v);
    for (std::size_t p = 0; p < n; ++p) CHECK(r.phi.value[p] == Approx(truth[p]).margin(1e-12));
    CHECK(r.evaluations == (std::size_t{1} << n) + 2);
  }
}

TEST_CASE("the_values_of_every_estimator_sum_to_the_value_of_all_players_within_1e_9") {
  for (const estimator e : all_estimators) {
    const small_game g(12, [](const set& s) { return 1000 * bumpy(s, 8); });
    const estimate_result r = estimate(g, ask(e, 60));
    REQUIRE(r);
    INFO(to_string(e));
    CHECK(std::abs(sum(r.phi.value) - r.total) <= 1e-9);
    CHECK(std::abs(sum(r.by_agent.value) - r.total) <= 1e-9);
    CHECK(std::abs(sum(r.by_step.value) - r.total) <= 1e-9);
    CHECK(std::abs(sum(r.by_behaviour.value) - r.total) <= 1e-9);
  }
}

TEST_CASE("symmetry_players_that_add_the_same_to_every_set_get_the_same") {
  // 1 and 4 are interchangeable: the risk sees only how many of them are there.
  const value_function v = [](const set& s) {
    set seen = s;
    seen[1] = s[1] || s[4];
    seen[4] = s[1] && s[4];
    return bumpy(seen, 2);
  };
  const estimate_result exact = estimate(small_game(7, v), ask(estimator::exact));
  CHECK(exact.phi.value[1] == Approx(exact.phi.value[4]).margin(1e-13));
  for (const estimator e : all_estimators) {
    const estimate_result r = estimate(small_game(7, v), ask(e, 4000));
    INFO(to_string(e));
    CHECK(std::abs(r.phi.value[1] - r.phi.value[4]) <= 5 * (r.phi.error[1] + r.phi.error[4]) + 1e-12);
  }
}

TEST_CASE("a_player_that_changes_nothing_gets_the_value_0_without_being_declared_null") {
  const value_function v = [](const set& s) {
    set seen = s;
    seen[3] = false;
    return bumpy(seen, 4);
  };
  for (const estimator e : {estimator::exact, estimator::permutation, estimator::antithetic, estimator::owen}) {
    const estimate_result r = estimate(small_game(6, v), ask(e, 50));
    INFO(to_string(e));
    CHECK(std::abs(r.phi.value[3]) <= 1e-14);
  }
}

TEST_CASE("linearity_the_values_of_a_sum_of_games_are_the_sums_of_the_values_with_the_same_draws") {
  const value_function a = [](const set& s) { return bumpy(s, 1); };
  const value_function b = [](const set& s) { return bumpy(s, 2); };
  const value_function both = [=](const set& s) { return 2 * a(s) - 3 * b(s); };
  for (const estimator e : {estimator::exact, estimator::permutation, estimator::antithetic, estimator::leverage}) {
    const estimate_result x = estimate(small_game(9, a), ask(e, 40)), y = estimate(small_game(9, b), ask(e, 40)),
                          z = estimate(small_game(9, both), ask(e, 40));
    INFO(to_string(e));
    for (std::size_t p = 0; p < 9; ++p)
      CHECK(z.phi.value[p] == Approx(2 * x.phi.value[p] - 3 * y.phi.value[p]).margin(1e-11));
  }
}

TEST_CASE("estimates_lie_within_their_errors_of_the_truth_and_the_errors_shrink_with_the_root_of_the_samples") {
  const value_function v = [](const set& s) { return bumpy(s, 6) + (s[0] && s[5] ? 1 : 0); };
  const small_game g(10, v);
  const estimate_result truth = estimate(g, ask(estimator::exact));
  for (const estimator e : {estimator::permutation, estimator::antithetic, estimator::owen}) {
    const estimate_result few = estimate(g, ask(e, 400)), many = estimate(g, ask(e, 6400));
    INFO(to_string(e));
    for (std::size_t p = 0; p < 10; ++p) {
      CHECK(std::abs(many.phi.value[p] - truth.phi.value[p]) < 4.5 * many.phi.error[p]);
      CHECK(many.phi.error[p] / few.phi.error[p] == Approx(0.25).epsilon(0.35));
    }
    for (std::size_t i = 0; i < 2; ++i)
      CHECK(std::abs(many.by_agent.value[i] - truth.by_agent.value[i]) < 4.5 * many.by_agent.error[i] + 1e-12);
  }
  const estimate_result fit = estimate(g, ask(estimator::leverage, 60));
  for (std::size_t p = 0; p < 10; ++p)
    CHECK(std::abs(fit.phi.value[p] - truth.phi.value[p]) < 6 * fit.phi.error[p] + 1e-12);
}

TEST_CASE("a_regression_with_samples_for_every_set_is_exact") {
  const value_function v = [](const set& s) { return bumpy(s, 9); };
  const estimate_result exact = estimate(small_game(8, v), ask(estimator::exact));
  const estimate_result fit = estimate(small_game(8, v), ask(estimator::leverage, 1000));
  for (std::size_t p = 0; p < 8; ++p) CHECK(fit.phi.value[p] == Approx(exact.phi.value[p]).margin(1e-10));
}

TEST_CASE("the_result_is_the_same_bit_for_bit_for_any_number_of_threads") {
  const generated made = generate({"socialnetwork", 6, 6, 3, 2}, false);
  for (const estimator e : all_estimators) {
    if (e == estimator::exact) continue;
    const estimate_result result = estimate(*made.game, ask(e, 300, 1));
    REQUIRE(result);
    for (const unsigned threads : {2u, 3u, 7u}) {
      const estimate_result many = estimate(*made.game, ask(e, 300, threads));
      INFO(to_string(e) << ", " << threads << " threads");
      CHECK(many.phi.value == result.phi.value);
      CHECK(many.phi.error == result.phi.error);
      CHECK(many.by_agent.error == result.by_agent.error);
    }
  }
  const small_game g(13, [](const set& s) { return bumpy(s, 5); });
  CHECK(estimate(g, ask(estimator::exact, 1, 1)).phi.value == estimate(g, ask(estimator::exact, 1, 4)).phi.value);
}

TEST_CASE("a_stopped_estimate_keeps_the_samples_so_far_and_is_marked") {
  std::atomic<bool> stop{false};
  const small_game g(6, [](const set& s) { return bumpy(s, 7); });
  estimate_options options = ask(estimator::permutation, 100'000);
  options.control.stop = &stop;
  options.control.progress = [&](std::size_t done, std::size_t) {
    if (done == 3) stop = true;
  };
  const estimate_result r = estimate(g, options);
  REQUIRE(r);
  CHECK(r.interrupted);
  CHECK(r.samples > 0);
  CHECK(r.samples < r.wanted);
  CHECK(std::abs(sum(r.phi.value) - r.total) <= 1e-9);
}

TEST_CASE("permutations_do_not_repeat_although_other_code_draws_numbers") {
  std::set<std::vector<int>> seen;
  for (std::uint64_t k = 0; k < 500; ++k) {
    digd::random_stream draw(1, purpose::permutation, k);
    std::vector<int> order(12);
    std::iota(order.begin(), order.end(), 0);
    draw.shuffle(std::span(order));
    seen.insert(order);
    digd::random_stream elsewhere(1, purpose::generator, 0);  // a simulator that reseeds itself each time
    elsewhere.next64();
  }
  CHECK(seen.size() == 500);
}

TEST_CASE("Philox_gives_the_reference_numbers") {
  // Random123's known answers for counter and key zero.
  digd::random_stream draw(0, static_cast<purpose>(0), 0);
  CHECK(draw.next32() == 0x6627e8d5u);
  CHECK(draw.next32() == 0xe169c58du);
  CHECK(draw.next32() == 0xbc57ac4cu);
  CHECK(draw.next32() == 0x9b00dbd8u);
}

TEST_CASE("too_many_players_for_an_estimator_are_refused_with_the_number") {
  const small_game g(30, [](const set& s) { return bumpy(s, 1); });
  const estimate_result r = estimate(g, ask(estimator::exact));
  CHECK_FALSE(r);
  CHECK(r.problem == "exact values need at most 24 players that can matter; there are 30");
  const small_game large(501, [](const set&) { return 0.0; });
  CHECK(estimate(large, ask(estimator::leverage, 10)).problem.find("at most 500") != std::string::npos);
  CHECK(choose(large, 1000) == estimator::antithetic);
}

TEST_CASE("a_risk_that_is_not_a_number_is_refused") {
  const small_game g(3, [](const set& s) { return s[0] ? std::nan("") : 0; });
  CHECK(estimate(g, ask(estimator::permutation)).problem == "the risk is not a finite number");
}
