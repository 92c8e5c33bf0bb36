// Renders parts of the graph for sentences. Every name that an agent chose is quoted as data, and a long one is cut.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "rules/rule.h"

namespace digd::text {

inline constexpr std::size_t max_listed = 8;
inline constexpr std::size_t max_list_bytes = 512;   // as written in JSON; then no further name begins
inline constexpr std::size_t max_text_bytes = 4096;  // of a filled text, as written in JSON

// Replaces each {name} by its fact. For an empty fact, the space before it goes too. Other text in braces stays. A
// result that is too long is cut.
std::string fill(std::string_view pattern, const text_facts& facts);
// The first placeholder in `pattern` that `facts` does not have; empty if none.
std::string_view unknown_placeholder(std::string_view pattern, const text_facts& facts);

std::string agent(const graph::graph& g, graph::agent_index a);  // "coder", quoted; without an agent: nobody
std::string event(const graph::graph& g, graph::event_index e);  // "e2", quoted
// "e2" of agent "planner", waiting at "coder", "tester"
std::string work(const graph::graph& g, graph::event_index e);
std::string agents(const graph::graph& g, std::span<const graph::agent_index> given_agents);
std::string roster(const graph::graph& g);  // the agents that can receive
std::string events(const graph::graph& g, std::span<const graph::event_index> given_events);
std::string works(const graph::graph& g, std::span<const graph::event_index> events);
// The origins of an event's lineage: the generating activations and their agents.
std::string origins(const graph::graph& g, graph::event_index e);
// "e2" from the split "v1" by agent "planner"
std::string events_with_origins(const graph::graph& g, std::span<const graph::event_index> given_events);
std::string count(std::size_t n, std::string_view singular, std::string_view plural);  // "1 event", "3 events"

}  // namespace digd::text
