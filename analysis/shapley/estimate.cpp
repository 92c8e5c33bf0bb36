#include "analysis/shapley/estimate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "analysis/shapley/estimator_parts.h"
#include "analysis/shapley/sum.h"

namespace digd::shapley {

namespace {

constexpr std::array<std::string_view, 6> names{"auto", "exact", "permutation", "antithetic", "owen", "leverage"};

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

std::string_view to_string(estimator e) { return names[static_cast<std::size_t>(e)]; }

std::optional<estimator> estimator_from(std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return {};
  return static_cast<estimator>(at - names.begin());
}

tally::tally(const cast& players)
    : cast_(players),
      players_(players.size()),
      agents_(players.agent_names.size()),
      steps_(players.steps),
      behaviours_(players.behaviour_names.size()) {}

void tally::complete(std::span<double> values) const {
  double* agent = values.data() + players_;
  double* step = agent + agents_;
  double* behaviour = step + steps_;
  std::fill(agent, behaviour + behaviours_, 0.0);
  for (std::size_t p = 0; p < players_; ++p) {
    const double phi = values[p];
    agent[cast_.agent[p]] += phi;
    step[cast_.step[p]] += phi;
    const std::uint32_t from = cast_.behaviour_begin[p], to = cast_.behaviour_begin[p + 1];
    for (std::uint32_t b = from; b < to; ++b) behaviour[cast_.behaviours[b]] += phi / (to - from);
  }
}

void tally::split(const std::vector<double>& value, const std::vector<double>& error, estimate_result& to) const {
  std::size_t at = 0;
  const auto take = [&](scored& into, std::size_t n) {
    into.value.assign(value.begin() + at, value.begin() + at + n);
    into.error.assign(error.begin() + at, error.begin() + at + n);
    at += n;
  };
  take(to.phi, players_);
  take(to.by_agent, agents_);
  take(to.by_step, steps_);
  take(to.by_behaviour, behaviours_);
}

void moments::observe(std::span<const double> x) {
  if (mean.empty()) {
    mean.assign(x.size(), 0.0);
    squares.assign(x.size(), 0.0);
  }
  ++count;
  const double share = 1.0 / static_cast<double>(count);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - mean[i];
    mean[i] += d * share;
    squares[i] += d * (x[i] - mean[i]);
  }
}

void moments::merge(const moments& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const double a = static_cast<double>(count), b = static_cast<double>(other.count);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double d = other.mean[i] - mean[i];
    mean[i] += d * (b / (a + b));
    squares[i] += other.squares[i] + d * d * (a * b / (a + b));
  }
  count += other.count;
}

std::vector<double> moments::errors() const {
  std::vector<double> out(mean.size(), 0.0);
  if (count < 2) return out;
  const double scale = 1.0 / (static_cast<double>(count) * static_cast<double>(count - 1));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::sqrt(squares[i] * scale);
  return out;
}

std::vector<player_index> active_players(const cast& players) {
  std::vector<player_index> out;
  for (player_index p = 0; p < players.size(); ++p) {
    if (!players.null[p]) out.push_back(p);
  }
  return out;
}

void project(std::span<double> phi, std::span<const double> error, std::span<const player_index> active, double total) {
  if (active.empty()) return;
  exact_sum variance;
  for (const player_index p : active) variance.add(error[p] * error[p]);
  const bool known = variance.value() <= 0;
  for (int pass = 0; pass < 2; ++pass) {  // the second pass removes the rounding error of the first
    const double gap = total - sum_of(phi);
    for (const player_index p : active) {
      phi[p] += gap * (known ? 1.0 / static_cast<double>(active.size()) : error[p] * error[p] / variance.value());
    }
  }
}

void finish(const game& game, std::vector<double> value, std::vector<double> error, estimate_result& result) {
  const tally sums(game.players());
  const std::span<double> phi(value.data(), game.size());
  result.gap = result.total - sum_of(phi);
  project(phi, std::span<const double>(error.data(), game.size()), active_players(game.players()), result.total);
  sums.complete(value);
  sums.split(value, error, result);
}

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
