// The healthy counterpart of each recorded activation: what an agent in a good run does in its place. The baseline of
// the structure game (docs/shapley.md, "The healthy baseline"). A function of the recorded run alone.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/shapley/recorded_run.h"

namespace digd::shapley {

struct counterpart {
  std::vector<reaction> reactions;  // by input of the start
  bool changed = false;  // its reactions differ from those of the activation, or the activation failed or never ended
  bool last = false;     // the agent's last activation of the run
  bool excused = false;  // the agent still waits for an answer to a request of its own
  bool owes_answer = false;  // last, and an agent whose request is an input of it never got an answer
  bool last_to_end = false;  // the activation that ended last in the run

  // Whether the counterpart stays until the run comes to rest, and then finishes the remaining work.
  bool stays() const { return last && !excused; }
};

// Facts about the recorded run. The counterparts are derived from them, and the replay reads both.
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
