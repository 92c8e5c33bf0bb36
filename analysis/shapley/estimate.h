// Shapley values of a game, exact or estimated with standard errors (Interpreting Emergent Extreme Events in MAS,
// sections 3.1 and A, eq. 2, 12 and 24-25).
//
// For every estimator: the result is projected so that Σφ = v(Ω) (eq. 13), players known to be null get exactly 0 (eq.
// 18), and the result is the same for any number of threads. Failure: `problem`. A stop keeps a partial result where
// the estimator has one (`interrupted`).
#pragma once

#include <cstdint>

#include "analysis/shapley/estimator.h"
#include "analysis/shapley/game.h"

namespace digd::shapley {

estimate_result estimate(const game& game, const estimate_options& options);

// The estimator that `automatic` stands for; `choose_sampling` never chooses exact values.
estimator choose(const game& game, std::uint64_t samples);
estimator choose_sampling(const game& game, std::uint64_t samples);

}  // namespace digd::shapley
