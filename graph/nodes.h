// The nodes of the Dynamic Interaction Graph: agents, events with their deliveries, activations.
//
// Plain data, changed by `graph` only. Everyone else reads.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "graph/lineage.h"
#include "graph/short_list.h"
#include "model/message.h"

namespace digd::graph {

using agent_index = std::uint32_t;
using event_index = std::uint32_t;
using activation_index = std::uint32_t;
inline constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

enum class delivery_state : std::uint8_t { pending, consumed, discarded, rerouted, lost, withdrawn, unknown };

std::string_view to_string(delivery_state);

// Events that can wait at one agent: what a place in its list has bits for.
inline constexpr std::int64_t most_pending = (std::int64_t{1} << 28) - 1;

// One event given to one agent. Given again after it was settled, the same record is pending anew.
struct delivery {
  agent_index agent = nobody;
  std::uint32_t agent_slot : 28 = 0;  // place in the agent's list while pending
  delivery_state state : 3 = delivery_state::pending;
  bool given_back : 1 = false;  // made by healing, and still that same delivery
};
static_assert(sizeof(delivery) == 8);

enum class window_state : std::uint8_t { idle, running, fired };

// Some 140 bytes: a run remembers a hundred thousand of them.
struct event_node {
  std::string id;
  const std::string* kind = nullptr;  // the graph's own; null: none
  std::uint64_t ordinal = 0;          // place among all that was recorded in the run
  std::uint32_t generation = 0;

  activation_index source = nobody;  // remembered as long as the event is
  agent_index source_agent = nobody;
  bool submit : 1 = false;
  bool fyi : 1 = false;
  bool system : 1 = false;
  bool placeholder : 1 = false;     // seen as an input only, not announced yet
  bool late : 1 = false;            // announced after it was a placeholder
  bool derived : 1 = false;         // its source's used inputs are what it is derived from
  bool consumed : 1 = false;        // by some ended, not failed activation
  bool gave_up_submit : 1 = false;  // a submit event that was given back
  bool settled : 1 = false;
  bool remembered : 1 = true;                    // its id is known; else kept only for open activations
  bool touched : 1 = false;                      // waits for the end of the message (windows, settling)
  bool has_unknown : 1 = false;                  // some delivery became unknown
  window_state window : 2 = window_state::idle;  // of the rule whose windows belong to events

  std::uint32_t pending = 0;      // of the deliveries
  std::uint32_t open_inputs = 0;  // open activations that have it as an input
  std::uint32_t reachable_slot = nobody;
  std::uint32_t reducing_consumers = 0;  // ended, not failed, reducing activations that consumed it
  std::uint32_t reroute_acts = 0;
  std::uint32_t given_back = 0;         // by windows, for the ids of these interventions
  std::uint32_t attempts = 0;           // healings by the rule that counts attempts for each event
  mutable std::uint32_t marked_in = 0;  // `graph::is_marked`

  short_list<delivery> deliveries;         // sorted by agent
  short_list<activation_index> inputs_of;  // remembered activations it was presented to
  graph::generators generators;
  graph::ancestry ancestry;

  bool is_work() const { return !submit && !fyi && !system; }
  bool reachable() const { return is_work() && pending > 0; }
};

struct activation_input {
  event_ref event;
  digd::reaction reaction = digd::reaction::none;
};

struct activation_node {
  std::string id;
  std::uint64_t ordinal = 0;
  milliseconds heard_ms = 0;  // started or last had an output recorded
  agent_index agent = nobody;
  bool open : 1 = false;
  bool failed : 1 = false;
  bool active : 1 = false;         // open and not stalled
  bool used_fixed : 1 = false;     // its first output is recorded
  bool used_all : 1 = false;       // and it was open then
  std::uint32_t output_count = 0;  // `fyi` outputs aside
  std::uint32_t remembered = 0;    // inputs and outputs that the run still remembers
  std::uint32_t remembered_outputs = 0;

  // The chain of active activations, in order of `heard_ms`.
  activation_index earlier_active = nobody;
  activation_index later_active = nobody;
  std::uint32_t agent_slot = nobody;  // place in its agent's list while open

  short_list<activation_input> inputs;
  short_list<event_ref> outputs;  // in order; those forgotten may be missing
  graph::generators
      inherited;             // by its outputs: what their inputs have, or itself; valid once used_fixed, until it ends
  graph::ancestry ancestry;  // likewise

  bool reducing() const { return output_count <= inputs.size(); }
  bool uses(const activation_input& input) const { return used_all || input.reaction == reaction::consume; }
};

// How many of an agent's pending events come from the same generators.
struct pending_lineage {
  generators from;  // never null
  std::uint32_t events = 0;
};

struct agent_node {
  std::string name;
  bool in_roster = false;
  std::vector<event_index> pending;       // events with a pending delivery to it
  std::vector<pending_lineage> lineages;  // of those of them that have generators; no order
  std::vector<activation_index> open;     // its open activations
};

// What `id_index` finds a node by.
inline std::string_view name_of(const event_node& n) { return n.id; }
inline std::string_view name_of(const activation_node& n) { return n.id; }
inline std::string_view name_of(const agent_node& n) { return n.name; }

}  // namespace digd::graph
