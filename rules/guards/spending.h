// What a run and each of its agents have spent, as clients report it, and which limits of `budget` they have passed.
//
// One per run, on its engine thread. Bounds: at most one entry for each agent that the run knows. Sums stop at
// 2^64 - 1.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/nodes.h"
#include "model/guard.h"
#include "model/message.h"

namespace digd {

using spent_totals = std::array<std::uint64_t, total_count>;  // by total_kind

class spending {
 public:
  // A message is accepted at `now`. The first one starts the run's clock.
  void begin(milliseconds now) {
    if (!run_.began) run_.start(now);
  }
  void add_activation(graph::agent_index agent, milliseconds now);
  void add(graph::agent_index agent, const usage_amounts& used);

  // `graph::nobody` as the agent means the whole run.
  spent_totals totals(graph::agent_index agent, milliseconds now) const;
  const usage_amounts& used(graph::agent_index agent) const;
  // The totals since the last `restart`, which the guard compares with its limits.
  spent_totals guarded(graph::agent_index agent, milliseconds now) const;
  // A person allowed a run or an agent to continue: the guard's totals start at 0 again.
  void restart(graph::agent_index agent, milliseconds now);

  // Sets of total_kind as bits: the limits that a judged message found passed, and the limits that a warning named.
  std::uint8_t passed(graph::agent_index agent) const { return account_of(agent).passed; }
  void note_passed(graph::agent_index agent, std::uint8_t limits) { account(agent).passed |= limits; }
  std::uint8_t warned(graph::agent_index sender) const { return account_of(sender).warned; }
  void note_warned(graph::agent_index sender, std::uint8_t limits) { account(sender).warned |= limits; }

 private:
  struct subject {
    usage_amounts used;
    std::uint64_t activations = 0;
    milliseconds since = 0;
    bool began = false;
    spent_totals base{};  // at the last restart; of `ms`: the time
    std::uint8_t passed = 0;
    std::uint8_t warned = 0;

    void start(milliseconds now) {
      began = true;
      since = now;
    }
  };
  subject& account(graph::agent_index agent);
  const subject& account_of(graph::agent_index agent) const;

  subject run_;
  std::vector<subject> agents_;  // by agent_index
};

}  // namespace digd
