// The estimators of Shapley values, what they are asked for, and what they return.
//
// Plain data. Failure: `estimate_result::problem`, in words.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/shapley/work.h"

namespace digd::shapley {

enum class estimator : std::uint8_t {
  automatic,    // exact if cheap enough, else the best for the game (docs/shapley.md, "Estimators")
  exact,        // all sets of the players that are not known to be null; at most 24 of these
  permutation,  // the paper's Algorithm 1
  antithetic,   // Algorithm 1 with each permutation's reverse
  owen,         // toggles every player against a random set of density q and against its complement
  leverage,     // regression on sets sampled by leverage score, with their complements; at most 500 players
};

std::string_view to_string(estimator);
std::optional<estimator> estimator_from(std::string_view name);

inline constexpr std::size_t max_exact_players = 24;
inline constexpr std::size_t max_regression_players = 500;
inline constexpr std::uint64_t min_regression_samples = 5;  // samples; with fewer the fit is too loose

struct estimate_options {
  digd::shapley::estimator estimator = estimator::automatic;
  std::uint64_t samples = 1000;  // M: permutations, or the samples of another estimator at the same cost
  std::uint64_t seed = 1;
  run_control control;
};

// Values with their standard errors, which are 0 where a value is exact. Parallel arrays.
struct scored {
  std::vector<double> value, error;
};

// φ is a sum of differences of risks, so its rounding error is this share of the largest risk.
inline constexpr double rounding_share = 1e-12;

struct estimate_result {
  std::string problem;  // empty: success
  digd::shapley::estimator estimator = estimator::exact;
  scored phi;                              // by player
  scored by_agent, by_step, by_behaviour;  // eq. 5, 3 and 9; errors of the sums, not sums of errors
  double baseline = 0;                     // R(∅)
  double total = 0;                        // v(Ω) = R(Ω) - R(∅)
  double gap = 0;                          // v(Ω) - Σφ before the projection
  std::uint64_t samples = 0;               // samples done
  std::uint64_t wanted = 0;                // samples requested
  std::uint64_t evaluations = 0;           // evaluations of v
  bool interrupted = false;
  double seconds = 0;

  // The larger of |R(∅)| and |R(Ω)|: the scale of the rounding in φ.
  double largest_risk() const { return std::max(std::abs(baseline), std::abs(baseline + total)); }
  // Whether v(Ω) > 0 beyond rounding. If not, the actions together added no risk and there is nothing to attribute.
  bool adds_risk() const { return total > rounding_share * largest_risk(); }
  explicit operator bool() const { return problem.empty(); }
};

}  // namespace digd::shapley
