// The structure game (analysis/shapley) measured on runs with a planted failure.
#pragma once

#include <cstdint>

#include "analysis/whowhen/score.h"

namespace digd::whowhen {

// Adds one run of each rule, and one clean run, to the figures of the method "structure game". A step is the number of
// an activation. In a clean run the right answer is to blame nobody. Empty, or the reason for stopping.
std::string add_structure(results& into, std::uint64_t seed);

}  // namespace digd::whowhen
