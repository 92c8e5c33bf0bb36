// The witness of a finding: the nodes that the rule's sentence names, joined by shortest paths.
//
// Bounds: at most 64 nodes, the given bytes, and a limited search, whatever the size of the graph. `truncated` tells
// that something was left out.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "model/answer.h"

namespace digd::graph {

inline constexpr std::size_t max_witness_nodes = 64;
inline constexpr std::size_t max_witness_bytes = 8192;    // as written in JSON
inline constexpr std::size_t max_witness_visits = 4096;   // nodes visited while searching the paths of one witness
inline constexpr std::size_t max_message_visits = 65536;  // of all witnesses of one message

// The nodes that a finding names. The most important come first: `subject`, then events, then activations.
struct witness_names {
  activation_index subject = nobody;
  std::vector<event_index> events;
  std::vector<activation_index> activations;
  std::vector<event_index> pending_of;  // events whose pending recipients are named
};

// Appends events that a finding names.
inline void append_named(std::vector<event_index>& to, std::span<const event_index> events) {
  to.insert(to.end(), events.begin(), events.end());
}

// `visits_left`: node visits that the current message may still spend on searching; reduced by those of this witness.
// At 0 the witness has only the named nodes and is `truncated`. `max_bytes`: of its nodes and edges, as written in
// JSON.
witness make_witness(const graph& g, const witness_names& names, std::size_t& visits_left,
                     std::size_t max_bytes = max_witness_bytes);

}  // namespace digd::graph
