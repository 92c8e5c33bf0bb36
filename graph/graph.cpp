#include "graph/graph.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cassert>
#include <iterator>
#include <utility>

namespace digd::graph {

namespace {

// Removes element `slot` from an unordered list. Returns the element that took its place, or nobody.
std::uint32_t swap_out(std::vector<std::uint32_t>& list, std::uint32_t slot) {
  list[slot] = list.back();
  list.pop_back();
  return slot < list.size() ? list[slot] : nobody;
}

delivery* delivery_position(short_list<delivery>& deliveries, agent_index a) {
  return std::lower_bound(deliveries.begin(), deliveries.end(), a,
                          [](const delivery& d, agent_index wanted) { return d.agent < wanted; });
}

}  // namespace

// ---- nodes

event_index graph::new_event(std::string_view id) {
  event_index e;
  if (free_events_.empty()) {
    e = static_cast<event_index>(events_.size());
    events_.add();
  } else {
    e = free_events_.back();
    free_events_.pop_back();
  }
  event_node& node = events_[e];
  node.id = id;
  node.ordinal = next_ordinal_++;
  event_ids_.insert(node.id, e);
  ++live_events_;
  ++counters_.events;
  return e;
}

void graph::set_kind(event_node& node, std::string_view kind) {
  auto known = kinds_.find(kind);
  if (known == kinds_.end()) known = kinds_.emplace(kind, 0).first;
  ++known->second;
  node.kind = &known->first;
}

void graph::drop_kind(event_node& node) {
  if (node.kind == nullptr) return;
  const auto known = kinds_.find(*node.kind);
  node.kind = nullptr;
  if (--known->second == 0) kinds_.erase(known);
}

activation_index graph::new_activation(std::string_view id) {
  activation_index v;
  if (free_activations_.empty()) {
    v = static_cast<activation_index>(activations_.size());
    activations_.add();
  } else {
    v = free_activations_.back();
    free_activations_.pop_back();
  }
  activation_node& node = activations_[v];
  node.id = id;
  node.ordinal = next_ordinal_++;
  activation_ids_.insert(node.id, v);
  ++counters_.activations;
  return v;
}

agent_index graph::intern(std::string_view name) {
  const agent_index known = find_agent(name);
  if (known != nobody) return known;
  const auto a = static_cast<agent_index>(agents_.size());
  agents_.add().name = name;
  agent_names_.insert(name, a);
  return a;
}

void graph::join(agent_index a) {
  if (agents_[a].in_roster) return;
  agents_[a].in_roster = true;
  ++roster_size_;
  roster_front_.clear();
}

void graph::leave(agent_index a) {
  agent_node& leaving = agents_[a];
  if (!leaving.in_roster) return;
  leaving.in_roster = false;
  --roster_size_;
  roster_front_.clear();
  while (!leaving.pending.empty()) take(leaving.pending.back(), a, delivery_state::lost);
  for (const activation_index v : leaving.open) stall(v);
}

// ---- deliveries

void graph::update_reachable(event_index e) {
  event_node& node = events_[e];
  const bool listed = node.reachable_slot != nobody;
  if (node.reachable() == listed) return;
  if (listed) {
    const event_index moved = swap_out(reachable_, node.reachable_slot);
    if (moved != nobody) events_[moved].reachable_slot = node.reachable_slot;
    node.reachable_slot = nobody;
  } else {
    node.reachable_slot = static_cast<std::uint32_t>(reachable_.size());
    reachable_.push_back(e);
  }
}

void graph::give(event_index e, agent_index a) {
  event_node& node = events_[e];
  if (node.settled) return;
  auto at = delivery_position(node.deliveries, a);
  if (at == node.deliveries.end() || at->agent != a) {
    at = node.deliveries.insert(at, delivery{.agent = a, .state = delivery_state::lost});
  } else if (at->state == delivery_state::pending) {
    return;
  }
  touch(e);
  at->given_back = false;
  agent_node& receiver = agents_[a];
  if (!receiver.in_roster) {
    at->state = delivery_state::lost;
    return;
  }
  at->state = delivery_state::pending;
  at->agent_slot = static_cast<std::uint32_t>(receiver.pending.size());
  receiver.pending.push_back(e);
  if (node.generators) count_visited(receiver.lineages.add(node.generators));
  ++node.pending;
  update_reachable(e);
}

// Merges all new deliveries at once. Inserting them one by one would move a long list each time.
void graph::give_all(event_index e, std::span<const agent_index> to) {
  event_node& node = events_[e];
  if (node.settled) return;
  if (to.size() > 1) {
    short_list<delivery>& deliveries = node.deliveries;
    const std::size_t had = deliveries.size();
    for (const agent_index a : to) {
      if (find_delivery(e, a, had) == nullptr)
        deliveries.push_back(delivery{.agent = a, .state = delivery_state::lost});
    }
    const auto by_agent = [](const delivery& a, const delivery& b) { return a.agent < b.agent; };
    std::sort(deliveries.begin() + had, deliveries.end(), by_agent);
    std::inplace_merge(deliveries.begin(), deliveries.begin() + had, deliveries.end(), by_agent);
  }
  for (const agent_index a : to) give(e, a);
}

void graph::close_delivery(event_index e, delivery& d, delivery_state fate) {
  event_node& node = events_[e];
  if (node.generators) count_visited(agents_[d.agent].lineages.drop(node.generators));
  const event_index moved = swap_out(agents_[d.agent].pending, d.agent_slot);
  if (moved != nobody) delivery_position(events_[moved].deliveries, d.agent)->agent_slot = d.agent_slot;
  d.state = fate;
  d.given_back = false;
  --node.pending;
  update_reachable(e);
  touch(e);
}

void graph::take(event_index e, agent_index a, delivery_state fate) {
  auto& deliveries = events_[e].deliveries;
  const auto at = delivery_position(deliveries, a);
  if (at != deliveries.end() && at->agent == a && at->state == delivery_state::pending) close_delivery(e, *at, fate);
}

void graph::name_recipients(const name_list& names, std::vector<agent_index>& to) {
  count_visited(names.size());
  to.clear();
  for (const std::string_view name : names) {
    const agent_index a = intern(name);
    if (!roster_closed_) join(a);
    to.push_back(a);
  }
}

// ---- recording

event_index graph::input_event(std::string_view id, agent_index for_agent) {
  event_index e = find_event(id);
  if (e == nobody) {
    e = new_event(id);
    events_[e].placeholder = true;
  }
  give(e, for_agent);
  return e;
}

activation_index graph::start(std::string_view id, std::string_view agent, const name_list& inputs, milliseconds now,
                              std::uint32_t session) {
  const agent_index a = intern(agent);
  join(a);
  const activation_index v = new_activation(id);
  activation_node& node = activations_[v];
  node.agent = a;
  node.session = session;
  node.open = true;
  node.agent_slot = static_cast<std::uint32_t>(agents_[a].open.size());
  agents_[a].open.push_back(v);
  ++open_count_;
  count_visited(inputs.size());
  node.inputs.reserve(inputs.size());
  for (const std::string_view input : inputs) {
    const event_index e = input_event(input, a);
    node.inputs.push_back({ref(e), reaction::none});
    events_[e].inputs_of.push_back(v);
    ++events_[e].open_inputs;
    ++node.remembered;
    touch(e);
  }
  activate(v, now);
  return v;
}

namespace {

// Looks up the reaction to an input. Uses a hash table if there are many.
class reaction_table {
 public:
  explicit reaction_table(const std::vector<reaction_draft>& drafts) : drafts_(drafts) {
    if (drafts.size() <= linear_up_to) return;
    for (const reaction_draft& r : drafts) by_input_.emplace(r.input, &r);
  }
  const reaction_draft* find(std::string_view input) const {
    if (drafts_.size() > linear_up_to) {
      const auto found = by_input_.find(input);
      return found == by_input_.end() ? nullptr : found->second;
    }
    for (const reaction_draft& r : drafts_) {
      if (r.input == input) return &r;
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t linear_up_to = 8;
  const std::vector<reaction_draft>& drafts_;
  boost::unordered_flat_map<std::string_view, const reaction_draft*> by_input_;
};

}  // namespace

void graph::end(activation_index v, const message& message, reroutes& rerouted) {
  activation_node& node = activations_[v];
  count_visited(node.inputs.size() + message.reactions.size());
  const reaction_table reactions(message.reactions);
  for (activation_input& input : node.inputs) {
    const event_index e = input.event.index;
    event_node& event = events_[e];
    --event.open_inputs;
    touch(e);
    if (message.failed) continue;
    const reaction_draft* declared = reactions.find(event.id);
    input.reaction = declared != nullptr ? declared->reaction : reaction::consume;
    switch (input.reaction) {
      case reaction::consume:
        take(e, node.agent, delivery_state::consumed);
        event.consumed_again = event.consumed;
        event.consumed = true;
        break;
      case reaction::discard: take(e, node.agent, delivery_state::discarded); break;
      case reaction::reroute:
        take(e, node.agent, delivery_state::rerouted);
        rerouted.emplace_back(e, declared);
        break;
      case reaction::wait:
      case reaction::none: break;
    }
  }
  if (node.active) stall(v);
  node.open = false;
  node.failed = message.failed;
  if (!node.has_output) node.repeats = repeats_work(node);
  --open_count_;
  auto& open = agents_[node.agent].open;
  const activation_index moved = swap_out(open, node.agent_slot);
  if (moved != nobody) activations_[moved].agent_slot = node.agent_slot;
  node.agent_slot = nobody;
  last_ended_agent_ = node.agent;
  last_ended_ = v;
  last_ended_ordinal_ = node.ordinal;
  ended_since_gap_ = true;
  ended_.push_back(v);
}

void graph::reroute(event_index e, const name_list& targets, std::vector<agent_index>& to,
                    std::vector<agent_index>* newly_pending) {
  name_recipients(targets, to);
  ++events_[e].reroute_acts;
  if (newly_pending != nullptr) {
    std::copy_if(to.begin(), to.end(), std::back_inserter(*newly_pending),
                 [&](agent_index a) { return !is_pending(e, a); });
  }
  give_all(e, to);
  if (newly_pending != nullptr) std::erase_if(*newly_pending, [&](agent_index a) { return !is_pending(e, a); });
}

event_index graph::record(const event_draft& draft, activation_index source, milliseconds now,
                          std::vector<agent_index>& to) {
  event_index e = find_event(draft.id);
  const bool late = e != nobody;
  if (!late) e = new_event(draft.id);
  event_node& node = events_[e];
  assert(!late || node.placeholder);
  node.placeholder = false;
  node.late = late;
  if (draft.kind) set_kind(node, *draft.kind);
  node.fyi = draft.fyi;
  node.submit = draft.submit;
  if (source != nobody) add_output(source, e, now);
  update_reachable(e);
  touch(e);
  name_recipients(draft.recipients, to);
  if (late) {
    std::vector<agent_index> news;
    std::copy_if(to.begin(), to.end(), std::back_inserter(news),
                 [&](agent_index a) { return find_delivery(e, a) == nullptr; });
    give_all(e, news);
  } else {
    give_all(e, to);
  }
  return e;
}

void graph::add_output(activation_index v, event_index e, milliseconds now) {
  activation_node& from = activations_[v];
  event_node& node = events_[e];
  if (!from.has_output) fix_used_inputs(v);
  node.source = v;
  node.source_agent = from.agent;
  if (from.outputs.size() > 16 && from.outputs.size() > 2 * std::size_t{from.remembered_outputs}) {
    from.outputs.erase_if([this](event_ref r) { return resolve(r) == nullptr || !resolve(r)->remembered; });
  }
  from.outputs.push_back(ref(e));
  if (!node.fyi) ++from.output_count;
  if (node.is_work()) ++from.work_outputs;
  ++from.remembered;
  ++from.remembered_outputs;
  if (from.open) activate(v, now);
  if (node.late) return;
  node.derived = true;
  node.repeated = from.repeats && node.is_work();
  node.depth = from.output_depth;
  node.ancestry = from.ancestry;
}

bool graph::repeats_work(const activation_node& v) const {
  bool uses_work = false;
  bool only_repeated = true;
  for (const activation_input& input : v.inputs) {
    const event_node& x = events_[input.event.index];
    if (!(v.open || v.uses(input)) || !x.is_work()) continue;
    const bool by_itself = input.reaction == reaction::consume;
    if (by_itself ? x.consumed_again : x.consumed) return true;
    uses_work = true;
    only_repeated = only_repeated && x.repeated;
  }
  return uses_work && only_repeated;
}

void graph::fix_used_inputs(activation_index v) {
  activation_node& node = activations_[v];
  node.has_output = true;
  node.used_all_inputs = node.open;
  if (node.open) node.repeats = repeats_work(node);  // else it was fixed when the activation ended
  begin_marking();
  boost::intrusive_ptr<ancestor_list> ancestor_lists;
  const auto add = [&](event_ref r) {
    const event_node* event = resolve(r);
    if (event == nullptr || event->settled || !mark(r.index)) return;
    if (!ancestor_lists) ancestor_lists.reset(new ancestor_list);
    ancestor_lists->members.push_back(r);
  };
  generator_sets lineages;
  for (const activation_input& input : node.inputs) {
    if (!node.uses(input)) continue;
    const event_node& event = events_[input.event.index];
    node.output_depth = std::max(node.output_depth, event.depth + 1);
    add(input.event);
    count_visited(1);
    if (event.ancestry && std::exchange(event.ancestry->visited_by, markings_) != markings_) {
      count_visited(event.ancestry->members.size());
      std::for_each(event.ancestry->members.begin(), event.ancestry->members.end(), add);
    }
    if (event.generators && (lineages.empty() || lineages.back() != event.generators))
      lineages.push_back(event.generators);
  }
  count_visited(merge(lineages, limits_.generators));
  if (!lineages.empty()) node.inherited = std::move(lineages.front());
  node.ancestry = std::move(ancestor_lists);
}

void graph::fix_generators(activation_index source, std::span<const event_index> outputs) {
  activation_node& from = activations_[source];
  // A generating activation without inherited generators starts a lineage. It stays generating: outputs only grow.
  if (!from.inherited && !from.reducing()) {
    from.inherited =
        single_generator(new generator(from.ordinal, from.id, agents_[from.agent].name), limits_.generators);
  }
  for (const event_index e : outputs) {
    event_node& node = events_[e];
    if (node.late) continue;
    node.generators = from.inherited;
    if (!node.generators) continue;
    for (const delivery& d : node.deliveries) {
      if (d.state == delivery_state::pending) count_visited(agents_[d.agent].lineages.add(node.generators));
    }
    if (node.generators->overflow) ++counters_.generator_overflows;
  }
}

void graph::count_consumer(activation_index v) {
  reduced_.of = nobody;
  const activation_node& node = activations_[v];
  if (node.failed || !node.reducing()) return;
  for (const activation_input& input : node.inputs) {
    if (input.reaction == reaction::consume) ++events_[input.event.index].reducing_consumers;
  }
}

event_index graph::record_system_event(std::string_view id, std::span<const agent_index> to) {
  const event_index e = new_event(id);
  events_[e].system = true;
  touch(e);
  give_all(e, to);
  return e;
}

bool graph::has_pending() const {
  for (std::size_t a = 0; a < agents_.size(); ++a) {
    if (!agents_[a].pending.empty()) return true;
  }
  return false;
}

void graph::gap() {
  for (agent_index a = 0; a < agents_.size(); ++a) {
    while (!agents_[a].pending.empty()) {
      const event_index e = agents_[a].pending.back();
      events_[e].has_unknown = true;
      take(e, a, delivery_state::unknown);
    }
  }
  while (first_active_ != nobody) stall(first_active_);
  ended_since_gap_ = false;
}

}  // namespace digd::graph
