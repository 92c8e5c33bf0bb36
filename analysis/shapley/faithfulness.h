// Do the scores point at what matters? The risk drop (R_T(τ) - R_T(τ^del))/R_T(τ) after the k highest scored actions
// are replaced by the baseline (Interpreting Emergent Extreme Events in MAS, section 4.2, Table 3).
//
// R_T is the risk at the last step (section 3.1). It includes the baseline's share, unlike v(Ω) = R_T(τ) - R(∅).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/shapley/game.h"

namespace digd::shapley {

inline constexpr std::array<std::size_t, 2> deleted_counts{3, 10};

struct faithfulness {
  std::string problem;  // empty: success
  // Risk drops as shares of R_T(τ), one for each of `deleted_counts`; 0 where R_T(τ) ≤ 0.
  std::array<double, 2> shapley{}, leave_one_out{}, random{}, random_error{};
};

// Risk drops for given scores, one score a player. Of equal scores the earlier player goes first.
bool risk_drops(evaluator& ask, std::span<const double> scores, std::array<double, 2>& drops);

// Compares φ with leave-one-out scores v(Ω) - v(Ω\i) and with the mean of 100 random orders.
faithfulness judge(const game& game, std::span<const double> phi, std::uint64_t seed);

}  // namespace digd::shapley
