// The nodes of the Dynamic Interaction Graph: agents, events with their deliveries, activations.
//
// Plain data, changed by `graph` only. Everyone else reads.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/message.h"
#include "graph/lineage.h"

namespace digd::graph {

using agent_index = std::uint32_t;
using event_index = std::uint32_t;
using activation_index = std::uint32_t;
inline constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

enum class delivery_state : std::uint8_t { pending,
                                           consumed,
                                           discarded,
                                           rerouted,
                                           lost,
                                           withdrawn,
                                           unknown };

std::string_view to_string(delivery_state);

// One event given to one agent. Given again after it was settled, the same record is pending anew.
struct delivery {
  agent_index agent = nobody;
  delivery_state state = delivery_state::pending;
  bool given_back = false;            // made by healing, and still that same delivery
  std::uint32_t agent_slot = nobody;  // place in the agent's list while pending
};

enum class window_state : std::uint8_t { idle,
                                         running,
                                         fired };

struct event_node {
  std::string id;
  std::optional<std::string> kind;
  std::uint64_t ordinal = 0;  // place among all events recorded in the run
  milliseconds recorded_ms = 0;
  std::uint32_t generation = 0;

  activation_index source = nobody;  // remembered as long as the event is
  agent_index source_agent = nobody;
  bool submit = false;
  bool fyi = false;
  bool system = false;
  bool placeholder = false;     // seen as an input only, not announced yet
  bool late = false;            // announced after it was a placeholder
  bool derived = false;         // its source's used inputs are what it is derived from
  bool consumed = false;        // by some ended, not failed activation
  bool gave_up_submit = false;  // a submit event that was given back
  bool settled = false;
  bool remembered = true;    // its id is known; else kept only for open activations
  bool touched = false;      // waits for the end of the message (windows, settling)
  bool has_unknown = false;  // some delivery became unknown

  std::vector<delivery> deliveries;  // sorted by agent
  std::uint32_t pending = 0;         // of these
  std::uint32_t open_inputs = 0;     // open activations that have it as an input
  std::uint32_t reachable_slot = nobody;
  std::uint32_t reducing_consumers = 0;  // ended, not failed, reducing activations that consumed it
  std::uint64_t reroute_acts = 0;
  std::uint64_t given_back = 0;       // by windows, for the ids of these interventions
  std::uint64_t orphan_healings = 0;  // attempts used

  window_state orphan_window = window_state::idle;
  milliseconds orphan_due_ms = 0;

  std::vector<activation_index> inputs_of;  // remembered activations it was presented to
  graph::generators generators;
  graph::ancestry ancestry;

  bool is_work() const { return !submit && !fyi && !system; }
  bool reachable() const { return is_work() && pending > 0; }
};

struct activation_input {
  event_ref event;
  reaction what = reaction::none;
};

struct activation_node {
  std::string id;
  agent_index agent = nobody;
  std::uint64_t ordinal = 0;
  milliseconds started_ms = 0;
  milliseconds ended_ms = 0;
  milliseconds heard_ms = 0;  // started or last had an output recorded
  bool open = false;
  bool failed = false;
  bool active = false;      // open and not stalled
  bool used_fixed = false;  // its first output is recorded
  bool used_all = false;    // and it was open then
  std::vector<activation_input> inputs;
  std::uint64_t output_count = 0;
  std::vector<event_ref> outputs;  // in order; those forgotten may be missing
  std::uint32_t remembered = 0;    // inputs and outputs that the run still remembers
  std::uint32_t remembered_outputs = 0;
  graph::generators inherited;            // of what its outputs are derived from; valid once used_fixed
  graph::ancestry ancestry;               // likewise
  std::shared_ptr<const generator> self;  // once one of its outputs starts a lineage

  // The chain of active activations, in order of `heard_ms`.
  activation_index earlier_active = nobody;
  activation_index later_active = nobody;
  std::uint32_t agent_slot = nobody;  // place in its agent's list while open

  bool reducing() const { return output_count <= inputs.size(); }
  bool uses(const activation_input& input) const { return used_all || input.what == reaction::consume; }
};

struct agent_node {
  std::string name;
  bool in_roster = false;
  std::vector<event_index> pending;    // events with a pending delivery to it
  std::vector<activation_index> open;  // its open activations
};

}  // namespace digd::graph
