// The minimal picture of a finding: the nodes that a rule's sentence names, joined by shortest paths.
//
// Bounded: at most 64 nodes, and a bounded search for the paths whatever the size of the graph; what did not fit
// is said by `truncated`.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "model/answer.h"

namespace digd::graph {

inline constexpr std::size_t max_witness_nodes = 64;
inline constexpr std::size_t max_witness_visits = 4096;   // nodes looked at while searching the paths of one witness
inline constexpr std::size_t max_message_visits = 65536;  // of all witnesses of one message

// What is named, most important first: `subject` before all, then events, then activations.
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

// `visits_left`: what the message in hand may still spend on searching; reduced by what this witness spends. Once it is
// used up a witness has the named nodes alone, and is `truncated`.
witness make_witness(const graph& g, const witness_names& names, std::size_t& visits_left);

}  // namespace digd::graph
