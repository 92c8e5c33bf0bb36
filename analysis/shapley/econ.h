// The game econagent: households work and consume (Interpreting Emergent Extreme Events in MAS, appendix B.1).
//
// A trajectory records every action and every random draw. The game replays it with some actions replaced by the
// baseline: work, and consume the share 0.8.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/shapley/game.h"

namespace digd::shapley {

struct econ_trajectory {
  std::size_t agents = 0, steps = 0;
  std::vector<double> skill;         // agents; at the start; their mean is the first price
  std::vector<std::uint8_t> works;   // steps × agents
  std::vector<std::uint8_t> rate;    // steps × agents; share consumed, in units of 0.02, at most 50
  std::vector<std::uint16_t> order;  // steps × agents; the order in which agents consume
  std::vector<double> skill_draw;    // steps × agents; u_i on [0, 1]
  std::vector<double> price_draw;    // steps; u on [0, 1]
  double threshold = 0;              // ρ
  bool synthetic = false;
  std::uint64_t seed = 0;  // of a synthetic trajectory

  // Checks sizes and ranges. Empty if there is no fault, else the field and the expectation.
  std::string fault() const;
};

// `t` has no fault. (Likewise in twin.h and social.h.)
std::unique_ptr<game> make_econ_game(econ_trajectory t);

// A synthetic trajectory with an extreme event at its last step (docs/shapley.md, "Synthetic trajectories").
econ_trajectory generate_econ(std::size_t agents, std::size_t steps, std::uint64_t seed);

}  // namespace digd::shapley
