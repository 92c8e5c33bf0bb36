// econagent: households work and consume (scenario econagent; Interpreting Emergent Extreme Events in MAS, B.1).
//
// A recorded trajectory: what everybody did and every draw. The game replays it with some actions replaced by the
// baseline, work and consume 0.8.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/shapley/game.h"

namespace digd::shapley {

struct econ_trajectory {
  std::size_t agents = 0, steps = 0;
  std::vector<double> skill;         // agents; at the start, and their mean is the first price
  std::vector<std::uint8_t> works;   // steps × agents
  std::vector<std::uint8_t> rate;    // steps × agents; of consumption, in units of 0.02, at most 50
  std::vector<std::uint16_t> order;  // steps × agents; who consumes when
  std::vector<double> skill_draw;    // steps × agents; u_i on [0, 1]
  std::vector<double> price_draw;    // steps; u on [0, 1]
  double threshold = 0;              // ρ
  bool synthetic = false;
  std::uint64_t seed = 0;  // of a synthetic one

  // Empty if every array has its size and every value its range; else the field and what is wrong.
  std::string fault() const;
};

// Of a trajectory without a fault. (Likewise in twin.h and social.h.)
std::unique_ptr<game> make_econ_game(econ_trajectory t);

// Seeded, synthetic, reaching an extreme event at its last step (docs/shapley.md, "Synthetic trajectories").
econ_trajectory generate_econ(std::size_t agents, std::size_t steps, std::uint64_t seed);

}  // namespace digd::shapley
