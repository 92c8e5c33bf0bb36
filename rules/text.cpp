#include "rules/text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/quote.h"

namespace digd::text {

namespace {

// The name of the placeholder that starts at pattern[at], a '{'; empty if it is not a placeholder.
std::string_view placeholder_at(std::string_view pattern, std::size_t at) {
  const std::size_t end = pattern.find('}', at);
  if (end == std::string_view::npos) return {};
  const std::string_view name = pattern.substr(at + 1, end - at - 1);
  const bool is_name = !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
  return is_name ? name : std::string_view{};
}

const std::string* value_of(const text_facts& facts, std::string_view name) {
  for (const auto& [key, value] : facts) {
    if (key == name) return &value;
  }
  return nullptr;
}

// Lists the first items and counts the rest. `total`: the number of items, if `items` has only the first of them.
template <class Index, class Say>
std::string list(std::span<const Index> items, std::size_t total, Say say) {
  std::string out;
  std::size_t listed = 0;
  for (std::size_t bytes = 0; listed < items.size() && listed < max_listed && bytes < max_list_bytes; ++listed) {
    if (listed > 0) out += ", ";
    const std::string item = say(items[listed]);
    bytes += quoted_size(item);  // with `, ` in the place of its quotes
    out += item;
  }
  if (total > listed) out += " and " + std::to_string(total - listed) + " more";
  return out.empty() ? "nobody" : out;
}

std::string list_of_agents(const graph::graph& g, std::span<const graph::agent_index> agents, std::size_t total) {
  return list(agents, total, [&](graph::agent_index a) { return agent(g, a); });
}

constexpr std::size_t max_deliveries_visited = 1024;  // of one event, for one text

// The agents at which the event waits. Only their number, if none of the first deliveries is pending.
std::string waiting_at(const graph::graph& g, const graph::event_node& e) {
  std::vector<graph::agent_index> agents;
  const std::size_t wanted = std::min<std::size_t>(e.pending, max_listed);
  std::size_t visited = 0;
  for (const graph::delivery& d : e.deliveries) {
    if (agents.size() == wanted || visited == max_deliveries_visited) break;
    ++visited;
    if (d.state == graph::delivery_state::pending) agents.push_back(d.agent);
  }
  g.count_visited(visited);
  return agents.empty() ? count(e.pending, "agent", "agents") : list_of_agents(g, agents, e.pending);
}

}  // namespace

std::string fill(std::string_view pattern, const text_facts& facts) {
  std::string out;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const std::string_view name = pattern[at] == '{' ? placeholder_at(pattern, at) : std::string_view{};
    const std::string* value = name.empty() ? nullptr : value_of(facts, name);
    if (value == nullptr) {
      out += pattern[at];
    } else {
      out += *value;
      at += name.size() + 1;
      if (value->empty() && out.ends_with(' ')) out.pop_back();
    }
  }
  return cut_to_quote(std::move(out), max_text_bytes);
}

std::string_view unknown_placeholder(std::string_view pattern, const text_facts& facts) {
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const std::string_view name = pattern[at] == '{' ? placeholder_at(pattern, at) : std::string_view{};
    if (!name.empty() && value_of(facts, name) == nullptr) return name;
  }
  return {};
}

std::string agent(const graph::graph& g, graph::agent_index a) {
  return a == graph::nobody ? "nobody" : quoted_briefly(g.agent(a).name);
}

std::string event(const graph::graph& g, graph::event_index e) { return quoted_briefly(g.event(e).id); }

std::string work(const graph::graph& g, graph::event_index e) {
  const graph::event_node& node = g.event(e);
  std::string out = quoted_briefly(node.id);
  if (node.source_agent != graph::nobody) out += " of agent " + agent(g, node.source_agent);
  if (node.pending > 0) out += " (waiting at " + waiting_at(g, node) + ")";
  return out;
}

std::string agents(const graph::graph& g, std::span<const graph::agent_index> given_agents) {
  return list_of_agents(g, given_agents, given_agents.size());
}

std::string roster(const graph::graph& g) {
  static_assert(graph::graph::roster_front_size >= max_listed);
  return list_of_agents(g, g.roster_front(), g.roster_size());
}

std::string events(const graph::graph& g, std::span<const graph::event_index> given_events) {
  return list(given_events, given_events.size(), [&](graph::event_index e) { return event(g, e); });
}

std::string works(const graph::graph& g, std::span<const graph::event_index> events) {
  return list(events, events.size(), [&](graph::event_index e) { return work(g, e); });
}

std::string origins(const graph::graph& g, graph::event_index e) {
  const graph::generators& from = g.event(e).generators;
  if (!from || from->members.empty()) return "no known split";
  const std::span<const graph::generator_ptr> splits(from->members.data(), from->members.size());
  return list(splits, splits.size(), [](const auto& item) {
    return "the split " + quoted_briefly(item->activation) + " by agent " + quoted_briefly(item->agent);
  });
}

std::string events_with_origins(const graph::graph& g, std::span<const graph::event_index> given_events) {
  return list(given_events, given_events.size(),
              [&](graph::event_index e) { return event(g, e) + " from " + origins(g, e); });
}

std::string count(std::size_t n, std::string_view singular, std::string_view plural) {
  return std::to_string(n) + ' ' + std::string(n == 1 ? singular : plural);
}

}  // namespace digd::text
