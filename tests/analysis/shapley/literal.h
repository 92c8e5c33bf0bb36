// The three scenarios in their literal form, step by step and for one set at a time: the reference for the fast
// replays. Written independently of them; shares only the structs of the trajectories.
#pragma once

#include <vector>

#include "analysis/shapley/econ.h"
#include "analysis/shapley/social.h"
#include "analysis/shapley/twin.h"

namespace shapley_tests {

// kept(agent, step), both from 0.
double literal_econ(const digd::shapley::econ_trajectory& t, const std::vector<std::vector<bool>>& kept);
double literal_twin(const digd::shapley::twin_trajectory& t, const std::vector<std::vector<bool>>& kept);
double literal_social(const digd::shapley::social_trajectory& t, const std::vector<std::vector<bool>>& kept);

}  // namespace shapley_tests
