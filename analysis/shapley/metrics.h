// The five metrics of an attribution: when, who, what (Interpreting Emergent Extreme Events in MAS, sections 3.2-3.4,
// eq. 3-10). A metric whose denominator is zero is 0.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "analysis/shapley/estimate.h"

namespace digd::shapley {

inline constexpr double usual_share = 0.9;  // q

struct metrics {
  double latency = 0;                  // L_tm, eq. 4
  std::optional<std::size_t> formed;   // T*, from 1; none if the running sum never exceeds q·ρ
  double agent_concentration = 0;      // G_ag, eq. 6
  double instability_correlation = 0;  // C_ag, eq. 7
  double synchronization = 0;          // Z_ag, eq. 8
  double behaviour_concentration = 0;  // G_be, eq. 10
  std::vector<double> instability;     // σ_i, eq. 5
};

// φ_tm(t), φ_ag(i), φ_be(k): eq. 3, 5, 9. `phi` has one number a player.
std::vector<double> by_step(const cast& players, std::span<const double> phi);
std::vector<double> by_agent(const cast& players, std::span<const double> phi);
std::vector<double> by_behaviour(const cast& players, std::span<const double> phi);

// Gini coefficient of |x| (eq. 6, 10).
double gini(std::span<const double> x);
double pearson(std::span<const double> x, std::span<const double> y);

// `largest_risk` is the largest |R| that φ was computed from. A |φ| of at most `rounding_share` of it, or of the
// largest |φ|, is a rounding error and counts as 0.
metrics measure(const cast& players, std::span<const double> phi, double threshold, double q = usual_share,
                double largest_risk = 0);
// The metrics of an estimate. If it adds no risk, there is no T*.
metrics measure(const cast& players, const estimate_result& result, double threshold, double q = usual_share);

}  // namespace digd::shapley
