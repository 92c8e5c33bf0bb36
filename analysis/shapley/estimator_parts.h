// What the estimators share. Internal to analysis/shapley.
//
// Thread: `tally` any, for it is constant; `moments` one at a time. The estimators compute on `run_control::threads`
// threads (work.h). Lifetime: the cast outlives the `tally`. Failure: `estimate_result::problem`.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "analysis/shapley/estimator.h"
#include "analysis/shapley/game.h"

namespace digd::shapley {

// The layout of one vector: φ by player, then the sums by agent, by step, by behaviour.
class tally {
 public:
  explicit tally(const cast& players);
  std::size_t size() const { return players_ + agents_ + steps_ + behaviours_; }
  // Fills the sums from the values of the players (eq. 3, 5, 9; an action with several types is split evenly).
  void complete(std::span<double> values) const;
  void split(const std::vector<double>& value, const std::vector<double>& error, estimate_result& to) const;
  std::size_t players() const { return players_; }

 private:
  const cast& cast_;
  std::size_t players_, agents_, steps_, behaviours_;
};

// Running mean and variance of vectors; two parts can be merged (Chan, Golub, LeVeque 1983, eq. 2.1).
struct moments {
  std::uint64_t count = 0;
  std::vector<double> mean, squares;  // squares: Σ (x - mean)²

  void observe(std::span<const double> x);
  void merge(const moments& other);
  std::vector<double> errors() const;  // standard errors of the mean; 0 below two observations
};

// The players that are not known to be null.
std::vector<player_index> active_players(const cast& players);

// Corrects φ so that Σφ = total up to rounding. Each active player gets a share of the gap in proportion to its
// variance, so that exact values stay; all get equal shares if every error is 0.
void project(std::span<double> phi, std::span<const double> error, std::span<const player_index> active, double total);

void estimate_exactly(const game& game, const estimate_options& options, estimate_result& result);
void estimate_by_sampling(const game& game, const estimate_options& options, estimate_result& result);
void estimate_by_regression(const game& game, const estimate_options& options, estimate_result& result);

// Completes a result: projection, sums, errors. `value` and `error` have the layout of `tally`.
void finish(const game& game, std::vector<double> value, std::vector<double> error, estimate_result& result);

}  // namespace digd::shapley
