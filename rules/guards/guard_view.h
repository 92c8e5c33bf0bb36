// The facts, besides the graph, that guards read while a message is judged. Filled by engine/guarding.cpp.
#pragma once

#include <cstddef>

#include "graph/nodes.h"
#include "model/guard.h"
#include "rules/guards/repeats.h"
#include "rules/guards/spending.h"

namespace digd {

struct guard_view {
  const guard_settings& settings;
  const spending& spent;
  const repeats& outputs;  // up to and including the event being judged
  milliseconds now = 0;
  graph::agent_index sender = graph::nobody;  // the agent of the activation that the message names
  // Counts over the events of the message that come after the one being judged.
  std::size_t later_work_outputs = 0;
  std::size_t later_reachable = 0;
};

}  // namespace digd
