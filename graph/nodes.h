// The nodes of the Dynamic Interaction Graph: agents, events with their deliveries, activations.
//
// Plain data. Only `graph` changes it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "graph/lineage.h"
#include "graph/lineage_counts.h"
#include "graph/short_list.h"
#include "model/message.h"

namespace digd::graph {

using agent_index = std::uint32_t;
using event_index = std::uint32_t;
using activation_index = std::uint32_t;
inline constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

// `intercepted`: withdrawn by a guard, so that `graph::undo_interception` finds it. Readers see it as withdrawn.
enum class delivery_state : std::uint8_t {
  pending,
  consumed,
  discarded,
  rerouted,
  lost,
  withdrawn,
  unknown,
  intercepted
};

std::string_view to_string(delivery_state);

// The number of events that can wait at one agent: `delivery::agent_slot` has 28 bits.
inline constexpr std::int64_t max_pending = (std::int64_t{1} << 28) - 1;

// The delivery of an event to an agent. If the event is delivered to the agent again, the record is reused.
struct delivery {
  agent_index agent = nobody;
  std::uint32_t agent_slot : 28 = 0;  // index in the agent's list while pending
  delivery_state state : 3 = delivery_state::pending;
  bool given_back : 1 = false;  // by healing, and not delivered again since
};
static_assert(sizeof(delivery) == 8);

enum class window_state : std::uint8_t { idle, running, fired };

// Small, because a run remembers `limits.settled_events` of them.
struct event_node {
  std::string id;
  const std::string* kind = nullptr;  // owned by the graph; null: none

  std::uint64_t ordinal : 46 = 0;  // position among all events and activations of the run
  // The flags fill the word of `ordinal`.
  bool submit : 1 = false;
  bool fyi : 1 = false;
  bool system : 1 = false;
  bool placeholder : 1 = false;     // known as an input, not announced yet
  bool late : 1 = false;            // announced after it was known as an input
  bool derived : 1 = false;         // it descends from the used inputs of its source
  bool consumed : 1 = false;        // by an activation that ended and did not fail
  bool consumed_again : 1 = false;  // by a second one
  bool repeated : 1 = false;        // work, and its source repeated other work (`activation_node::repeats`)
  bool gave_up_submit : 1 = false;  // an answer that was given back
  bool settled : 1 = false;
  bool remembered : 1 = true;                    // its id is indexed; else only open activations keep it
  bool touched : 1 = false;                      // in `graph::touched`
  bool has_unknown : 1 = false;                  // a delivery became unknown
  bool is_withdrawn : 1 = false;                 // a guard withdrew it: it is not an orphan
  bool changed : 1 = false;                      // in the next answer of `graph::take_changed`
  window_state window : 2 = window_state::idle;  // of the rule whose windows belong to events

  std::uint32_t generation = 0;
  activation_index source = nobody;  // remembered at least as long as the event
  agent_index source_agent = nobody;
  std::uint32_t pending = 0;      // of the deliveries
  std::uint32_t open_inputs = 0;  // open activations that have it as an input
  std::uint32_t reachable_slot = nobody;
  std::uint32_t reducing_consumers = 0;  // ended, not failed, reducing activations that consumed it
  std::uint32_t reroute_acts = 0;
  std::uint32_t depth = 0;              // 0: derived from nothing; else 1 + the greatest among what it is derived from
  std::uint32_t given_back = 0;         // times that a window gave it back; part of the intervention's id
  std::uint32_t attempts = 0;           // healings by the one rule that counts them for each event
  mutable std::uint32_t marked_in = 0;  // `graph::is_marked`

  short_list<delivery> deliveries;         // sorted by agent
  short_list<activation_index> inputs_of;  // remembered activations that have it as an input
  graph::generators generators;
  graph::ancestry ancestry;

  bool is_work() const { return !submit && !fyi && !system; }
  bool reachable() const { return is_work() && pending > 0; }
};
static_assert(sizeof(event_node) == 144);

struct activation_input {
  event_ref event;
  digd::reaction reaction = digd::reaction::none;
};

struct activation_node {
  std::string id;
  std::uint64_t ordinal : 47 = 0;
  bool open : 1 = false;
  bool failed : 1 = false;
  bool active : 1 = false;           // open and not stalled
  bool has_output : 1 = false;       // its first output is recorded: the used inputs are fixed
  bool used_all_inputs : 1 = false;  // it was open at its first output: it uses all its inputs
  // True if another activation, which ended and did not fail, has consumed some of the work that this one uses, or if
  // all work that it uses is repeated. Fixed when its first output is recorded or when it ends, whichever comes first.
  bool repeats : 1 = false;
  milliseconds heard_ms = 0;  // when it started or its last output was recorded
  agent_index agent = nobody;
  std::uint32_t output_count = 0;  // without `fyi` outputs
  std::uint32_t work_outputs = 0;
  std::uint32_t output_depth = 0;  // the depth of its outputs; valid once has_output is set
  std::uint32_t session = 0;       // the index of the session that started it
  std::uint32_t remembered = 0;    // inputs and outputs that the run still remembers
  std::uint32_t remembered_outputs = 0;

  // The chain of active activations, in order of `heard_ms`.
  activation_index earlier_active = nobody;
  activation_index later_active = nobody;
  std::uint32_t agent_slot = nobody;  // index in its agent's list while open

  short_list<activation_input> inputs;
  short_list<event_ref> outputs;  // in order; forgotten ones may be missing
  // What its outputs inherit: the generators of the inputs that it uses, or itself if there are none and it is
  // generating; and their unsettled ancestors. Valid once has_output is set, until the message of its end is handled.
  graph::generators inherited;
  graph::ancestry ancestry;

  bool reducing() const { return output_count <= inputs.size(); }
  bool uses(const activation_input& input) const { return used_all_inputs || input.reaction == reaction::consume; }
};

struct agent_node {
  std::string name;
  bool in_roster = false;
  std::vector<event_index> pending;    // events with a pending delivery to it
  lineage_counts lineages;             // of the pending events that have generators
  std::vector<activation_index> open;  // its open activations
};

// The id by which `id_index` finds a node.
inline std::string_view name_of(const event_node& n) { return n.id; }
inline std::string_view name_of(const activation_node& n) { return n.id; }
inline std::string_view name_of(const agent_node& n) { return n.name; }

}  // namespace digd::graph
