// The healthy counterpart of each recorded activation: what an agent in a good run does in its place. The baseline of
// the structure game (docs/shapley.md, "The healthy baseline"). A function of the recorded run alone.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/shapley/recorded_run.h"

namespace digd::shapley {

struct counterpart {
  std::vector<reaction> reactions;  // by input of the start
  bool changed = false;             // it reacts otherwise than the activation did, or does not fail
  bool last = false;                // the agent's last activation of the run
  bool excused = false;             // the agent still waits for an answer to a request of its own
  bool owes_answer = false;         // an agent that asked for its input never got an answer
  bool last_to_end = false;         // of all activations of the run

  // Whether the counterpart stays until the run comes to rest, and then finishes the remaining work.
  bool stays() const { return last && !excused; }
};

// The recorded facts that the counterparts, and the replay with them, need.
struct recorded_facts {
  struct taker {
    std::uint32_t activation;
    digd::reaction reaction;
  };
  std::vector<std::uint32_t> source;               // by event: its activation, or `recorded_run::none`
  std::vector<std::vector<taker>> takers;          // by event, in the order of the starts
  std::vector<std::vector<std::uint32_t>> inputs;  // by activation: events
  std::vector<counterpart> counterparts;           // by activation
  std::size_t last_activity = 0;                   // the last step that belongs to an activation

  explicit recorded_facts(const recorded_run& run);
};

}  // namespace digd::shapley
