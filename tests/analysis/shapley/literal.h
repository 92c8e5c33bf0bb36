// The three scenarios as scenarios.md says them, step by step, for one set at a time: what the fast replays are judged
// by. Written without a look at them; shares only the trajectories' structs.
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
