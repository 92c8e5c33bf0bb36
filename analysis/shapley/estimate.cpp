#include "analysis/shapley/estimate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "analysis/shapley/estimator_parts.h"

namespace digd::shapley {

namespace {

bool ask_ends(const game& game, estimate_result& result) {
  const std::unique_ptr<evaluator> ask = game.make_evaluator();
  std::vector<lane_mask> masks(game.size(), 2);  // lane 0 keeps nobody, lane 1 everybody
  double ends[lanes];
  if (!ask->values(masks, 2, ends)) {
    result.problem = ask->problem();
    return false;
  }
  result.baseline = ends[0];
  result.total = ends[1] - ends[0];
  result.evaluations += 2;
  if (std::isfinite(ends[0]) && std::isfinite(ends[1])) return true;
  result.problem = "the risk is not a finite number";
  return false;
}

}  // namespace

estimator choose(const game& game, std::uint64_t samples) {
  const std::size_t n = active_players(game.players()).size();
  const double budget = static_cast<double>(samples) * static_cast<double>(n);
  if (n <= max_exact_players && std::ldexp(1.0, static_cast<int>(n)) <= std::max(budget, 65'536.0))
    return estimator::exact;
  return choose_sampling(game, samples);
}

estimator choose_sampling(const game& game, std::uint64_t samples) {
  const std::size_t n = active_players(game.players()).size();
  return n <= max_regression_players && samples >= min_regression_samples ? estimator::leverage : estimator::antithetic;
}

estimate_result estimate(const game& game, const estimate_options& asked) {
  const auto from = std::chrono::steady_clock::now();
  estimate_options options = asked;
  if (options.estimator == estimator::automatic) options.estimator = choose(game, options.samples);
  estimate_result result;
  result.estimator = options.estimator;
  result.wanted = options.samples;
  if (!ask_ends(game, result)) return result;
  switch (options.estimator) {
    case estimator::exact: estimate_exactly(game, options, result); break;
    case estimator::leverage: estimate_by_regression(game, options, result); break;
    default: estimate_by_sampling(game, options, result); break;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  return result;
}

}  // namespace digd::shapley
