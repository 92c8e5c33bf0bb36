// Queries of the graph.
#include <algorithm>
#include <utility>

#include "graph/graph.h"

namespace digd::graph {

std::string_view to_string(delivery_state s) {
  switch (s) {
    case delivery_state::pending: return "pending";
    case delivery_state::consumed: return "consumed";
    case delivery_state::discarded: return "discarded";
    case delivery_state::rerouted: return "rerouted";
    case delivery_state::lost: return "lost";
    case delivery_state::withdrawn:
    case delivery_state::intercepted: return "withdrawn";
    case delivery_state::unknown: return "unknown";
  }
  return "";
}

event_index graph::find_event(std::string_view id) const { return event_ids_.find(id); }

activation_index graph::find_activation(std::string_view id) const { return activation_ids_.find(id); }

agent_index graph::find_agent(std::string_view name) const { return agent_names_.find(name); }

std::vector<agent_index> graph::roster() const {
  std::vector<agent_index> agents;
  agents.reserve(roster_size_);
  for (agent_index a = 0; a < agents_.size(); ++a) {
    if (agents_[a].in_roster) agents.push_back(a);
  }
  std::sort(agents.begin(), agents.end(),
            [this](agent_index a, agent_index b) { return agents_[a].name < agents_[b].name; });
  return agents;
}

std::span<const agent_index> graph::roster_front() const {
  if (!roster_front_.empty()) return roster_front_;
  count_visited(agents_.size());
  for (agent_index a = 0; a < agents_.size(); ++a) {
    if (agents_[a].in_roster) roster_front_.push_back(a);
  }
  const auto end = roster_front_.begin() + std::min(roster_front_.size(), roster_front_size);
  std::partial_sort(roster_front_.begin(), end, roster_front_.end(),
                    [this](agent_index a, agent_index b) { return agents_[a].name < agents_[b].name; });
  roster_front_.erase(end, roster_front_.end());
  roster_front_.shrink_to_fit();
  return roster_front_;
}

const delivery* graph::find_delivery(event_index e, agent_index a) const {
  return find_delivery(e, a, events_[e].deliveries.size());
}

const delivery* graph::find_delivery(event_index e, agent_index a, std::size_t among) const {
  const auto& deliveries = events_[e].deliveries;
  const auto end = deliveries.begin() + among;
  const auto found = std::lower_bound(deliveries.begin(), end, a,
                                      [](const delivery& d, agent_index wanted) { return d.agent < wanted; });
  return found != end && found->agent == a ? &*found : nullptr;
}

bool graph::is_pending(event_index e, agent_index a) const {
  const delivery* d = find_delivery(e, a);
  return d != nullptr && d->state == delivery_state::pending;
}

const event_node* graph::resolve(event_ref ref) const {
  const event_node& node = events_[ref.index];
  return node.generation == ref.generation ? &node : nullptr;
}

std::span<const event_index> graph::reduced_by_others(activation_index v) const {
  if (reduced_.of == v) return reduced_.events;
  const activation_node& node = activations_[v];
  const bool counted =
      !node.open && !node.failed && node.reducing();  // `v` itself is among the consumers that its inputs count
  reduced_.of = v;
  reduced_.events.clear();
  count_visited(node.inputs.size());
  for (const activation_input& input : node.inputs) {
    const event_node* x = node.uses(input) ? resolve(input.event) : nullptr;
    if (x == nullptr || !x->is_work()) continue;
    const bool by_itself = counted && input.reaction == reaction::consume;
    if (x->reducing_consumers > (by_itself ? 1U : 0U)) reduced_.events.push_back(input.event.index);
  }
  return reduced_.events;
}

activation_index graph::last_ended() const {
  return last_ended_ != nobody && activations_[last_ended_].ordinal == last_ended_ordinal_ ? last_ended_ : nobody;
}

void graph::begin_marking() const {
  epoch_ = static_cast<std::uint32_t>(++markings_);
  if (epoch_ != 0) return;
  for (std::size_t e = 0; e < events_.size(); ++e) events_[e].marked_in = 0;  // the 32-bit epoch wrapped around
  epoch_ = static_cast<std::uint32_t>(++markings_);
}

bool graph::mark(event_index e) const { return std::exchange(events_[e].marked_in, epoch_) != epoch_; }

void graph::mark_ancestors(event_index e) const {
  begin_marking();
  if (!events_[e].ancestry) return;
  count_visited(events_[e].ancestry->members.size());
  for (const event_ref ancestor : events_[e].ancestry->members) {
    if (resolve(ancestor) != nullptr) mark(ancestor.index);
  }
}

std::vector<event_index> graph::all_events() const {
  std::vector<event_index> events;
  event_ids_.for_each([&](event_index e) { events.push_back(e); });
  std::sort(events.begin(), events.end(),
            [this](event_index a, event_index b) { return events_[a].ordinal < events_[b].ordinal; });
  return events;
}

std::vector<activation_index> graph::all_activations() const {
  std::vector<activation_index> activations;
  activation_ids_.for_each([&](activation_index v) { activations.push_back(v); });
  std::sort(activations.begin(), activations.end(), [this](activation_index a, activation_index b) {
    return activations_[a].ordinal < activations_[b].ordinal;
  });
  return activations;
}

}  // namespace digd::graph
