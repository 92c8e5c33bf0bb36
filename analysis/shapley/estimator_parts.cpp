#include "analysis/shapley/estimator_parts.h"

#include <algorithm>
#include <cmath>

#include "analysis/shapley/sum.h"

namespace digd::shapley {

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

}  // namespace digd::shapley
