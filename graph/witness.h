// The minimal picture of a finding: the nodes that a rule's sentence names, joined by shortest paths.
//
// Bounded: at most 64 nodes, and a bounded search for the paths whatever the size of the graph; what did not fit
// is said by `truncated`.
#pragma once

#include <vector>

#include "engine/answer.h"
#include "graph/graph.h"

namespace digd::graph {

inline constexpr std::size_t max_witness_nodes = 64;
inline constexpr std::size_t max_witness_visits = 4096;  // nodes looked at while searching paths

// What is named, most important first: `subject` before all, then events, then activations.
struct witness_names {
  activation_index subject = nobody;
  std::vector<event_index> events;
  std::vector<activation_index> activations;
  std::vector<event_index> pending_of;  // events whose pending recipients are named
};

witness make_witness(const graph& g, const witness_names& names);

}  // namespace digd::graph
