// The words in which rules speak of the graph. Every name that an agent chose is quoted as data.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "rules/rule.h"

namespace digd::text {

inline constexpr std::size_t listed_at_most = 8;

// Fills {placeholders}; what is in braces and no fact's name stays as it is.
std::string fill(std::string_view pattern, const text_facts& facts);
// The first placeholder in `pattern` that `facts` does not have; empty if none.
std::string_view unknown_placeholder(std::string_view pattern, const text_facts& facts);

std::string agent(const graph::graph& g, graph::agent_index a);  // "coder", quoted; nobody: nobody
std::string event(const graph::graph& g, graph::event_index e);  // "e2", quoted
// "e2" of agent "planner", waiting at "coder", "tester"
std::string work(const graph::graph& g, graph::event_index e);
std::string agents(const graph::graph& g, std::span<const graph::agent_index> given_agents);
std::string events(const graph::graph& g, std::span<const graph::event_index> given_events);
std::string works(const graph::graph& g, std::span<const graph::event_index> events);
// Where an event's lineage begins: the generating activations and their agents.
std::string origins(const graph::graph& g, graph::event_index e);
std::string count(std::size_t n, std::string_view text, std::string_view many);  // "1 event", "3 events"

}  // namespace digd::text
