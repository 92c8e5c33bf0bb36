#include "graph/graph.h"

#include <algorithm>
#include <cassert>

namespace digd::graph {

std::string_view to_string(delivery_state s) {
  switch (s) {
    case delivery_state::pending: return "pending";
    case delivery_state::consumed: return "consumed";
    case delivery_state::discarded: return "discarded";
    case delivery_state::rerouted: return "rerouted";
    case delivery_state::lost: return "lost";
    case delivery_state::withdrawn: return "withdrawn";
    case delivery_state::unknown: return "unknown";
  }
  return "";
}

namespace {

template <class Map>
std::uint32_t look_up(const Map& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? nobody : found->second;
}

// Takes element `slot` out of an unordered list; returns what now stands there, or nobody.
std::uint32_t swap_out(std::vector<std::uint32_t>& list, std::uint32_t slot) {
  list[slot] = list.back();
  list.pop_back();
  return slot < list.size() ? list[slot] : nobody;
}

auto delivery_position(std::vector<delivery>& all, agent_index a) {
  return std::lower_bound(all.begin(), all.end(), a,
                          [](const delivery& d, agent_index wanted) { return d.agent < wanted; });
}

}  // namespace

// ---- reading

event_index graph::find_event(std::string_view id) const { return look_up(event_ids_, id); }

activation_index graph::find_activation(std::string_view id) const { return look_up(activation_ids_, id); }

agent_index graph::find_agent(std::string_view name) const { return look_up(agent_names_, name); }

std::vector<agent_index> graph::roster() const {
  std::vector<agent_index> all;
  all.reserve(roster_size_);
  for (agent_index a = 0; a < agents_.size(); ++a) {
    if (agents_[a].in_roster) all.push_back(a);
  }
  std::sort(all.begin(), all.end(),
            [this](agent_index a, agent_index b) { return agents_[a].name < agents_[b].name; });
  return all;
}

const delivery* graph::find_delivery(event_index e, agent_index a) const {
  const auto& all = events_[e].deliveries;
  const auto found = std::lower_bound(all.begin(), all.end(), a,
                                      [](const delivery& d, agent_index wanted) { return d.agent < wanted; });
  return found != all.end() && found->agent == a ? &*found : nullptr;
}

bool graph::is_pending(event_index e, agent_index a) const {
  const delivery* d = find_delivery(e, a);
  return d != nullptr && d->state == delivery_state::pending;
}

const event_node* graph::resolve(event_ref ref) const {
  const event_node& node = events_[ref.index];
  return node.generation == ref.generation ? &node : nullptr;
}

activation_index graph::last_ended() const {
  return last_ended_ != nobody && activations_[last_ended_].ordinal == last_ended_ordinal_ ? last_ended_ : nobody;
}

void graph::mark_ancestors(event_index e) const {
  ++epoch_;
  const event_node& node = events_[e];
  if (!node.ancestry) return;
  if (marks_.size() < events_.size()) marks_.resize(events_.size(), 0);
  for (const event_ref& ancestor : *node.ancestry) {
    if (resolve(ancestor) != nullptr) marks_[ancestor.index] = epoch_;
  }
}

std::vector<event_index> graph::all_events() const {
  std::vector<event_index> all;
  for (const auto& [id, e] : event_ids_) all.push_back(e);
  std::sort(all.begin(), all.end(),
            [this](event_index a, event_index b) { return events_[a].ordinal < events_[b].ordinal; });
  return all;
}

std::vector<activation_index> graph::all_activations() const {
  std::vector<activation_index> all;
  for (const auto& [id, v] : activation_ids_) all.push_back(v);
  std::sort(all.begin(), all.end(), [this](activation_index a, activation_index b) {
    return activations_[a].ordinal < activations_[b].ordinal;
  });
  return all;
}

// ---- nodes

event_index graph::new_event(std::string_view id, milliseconds now) {
  event_index e;
  if (free_events_.empty()) {
    e = static_cast<event_index>(events_.size());
    events_.emplace_back();
  } else {
    e = free_events_.back();
    free_events_.pop_back();
  }
  event_node& node = events_[e];
  node.id = id;
  node.recorded_ms = now;
  node.ordinal = next_ordinal_++;
  event_ids_.emplace(node.id, e);
  ++live_events_;
  ++counters_.events;
  return e;
}

activation_index graph::new_activation(std::string_view id) {
  activation_index v;
  if (free_activations_.empty()) {
    v = static_cast<activation_index>(activations_.size());
    activations_.emplace_back();
  } else {
    v = free_activations_.back();
    free_activations_.pop_back();
  }
  activation_node& node = activations_[v];
  node.id = id;
  node.ordinal = next_ordinal_++;
  activation_ids_.emplace(node.id, v);
  ++counters_.activations;
  return v;
}

agent_index graph::intern(std::string_view name) {
  const agent_index known = find_agent(name);
  if (known != nobody) return known;
  const auto a = static_cast<agent_index>(agents_.size());
  agents_.emplace_back().name = name;
  agent_names_.emplace(agents_.back().name, a);
  return a;
}

void graph::join(agent_index a) {
  if (agents_[a].in_roster) return;
  agents_[a].in_roster = true;
  ++roster_size_;
}

void graph::leave(agent_index a) {
  agent_node& who = agents_[a];
  if (!who.in_roster) return;
  who.in_roster = false;
  --roster_size_;
  while (!who.pending.empty()) take(who.pending.back(), a, delivery_state::lost);
  for (const activation_index v : who.open) stall(v);
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
  agent_node& who = agents_[a];
  if (!who.in_roster) {
    at->state = delivery_state::lost;
    return;
  }
  at->state = delivery_state::pending;
  at->agent_slot = static_cast<std::uint32_t>(who.pending.size());
  who.pending.push_back(e);
  ++node.pending;
  update_reachable(e);
}

void graph::close_delivery(event_index e, delivery& d, delivery_state fate) {
  event_node& node = events_[e];
  const event_index moved = swap_out(agents_[d.agent].pending, d.agent_slot);
  if (moved != nobody) delivery_position(events_[moved].deliveries, d.agent)->agent_slot = d.agent_slot;
  d.agent_slot = nobody;
  d.state = fate;
  d.given_back = false;
  --node.pending;
  update_reachable(e);
  touch(e);
}

void graph::take(event_index e, agent_index a, delivery_state fate) {
  auto& all = events_[e].deliveries;
  const auto at = delivery_position(all, a);
  if (at != all.end() && at->agent == a && at->state == delivery_state::pending) close_delivery(e, *at, fate);
}

void graph::name_recipients(const name_list& names, std::vector<agent_index>& to) {
  to.clear();
  for (const std::string_view name : names) {
    const agent_index a = intern(name);
    if (!roster_closed_) join(a);
    to.push_back(a);
  }
}

// ---- recording

event_index graph::input_event(std::string_view id, agent_index for_agent, milliseconds now) {
  event_index e = find_event(id);
  if (e == nobody) {
    e = new_event(id, now);
    events_[e].placeholder = true;
  }
  give(e, for_agent);
  return e;
}

activation_index graph::start(std::string_view id, std::string_view agent, const name_list& inputs,
                              milliseconds now) {
  const agent_index a = intern(agent);
  join(a);
  const activation_index v = new_activation(id);
  activation_node& node = activations_[v];
  node.agent = a;
  node.open = true;
  node.started_ms = now;
  node.agent_slot = static_cast<std::uint32_t>(agents_[a].open.size());
  agents_[a].open.push_back(v);
  ++open_count_;
  node.inputs.reserve(inputs.size());
  for (const std::string_view input : inputs) {
    const event_index e = input_event(input, a, now);
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

// Finds the reaction declared for each input; hashes where there are many.
class reaction_table {
 public:
  explicit reaction_table(const std::vector<reaction_draft>& all) : all_(all) {
    if (all.size() <= linear_up_to) return;
    for (const reaction_draft& r : all) by_input_.emplace(r.input, &r);
  }
  const reaction_draft* find(std::string_view input) const {
    if (all_.size() > linear_up_to) {
      const auto found = by_input_.find(input);
      return found == by_input_.end() ? nullptr : found->second;
    }
    for (const reaction_draft& r : all_) {
      if (r.input == input) return &r;
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t linear_up_to = 8;
  const std::vector<reaction_draft>& all_;
  boost::unordered_flat_map<std::string_view, const reaction_draft*> by_input_;
};

}  // namespace

void graph::end(activation_index v, const message& how, milliseconds now, reroutes& rerouted) {
  activation_node& node = activations_[v];
  const reaction_table reactions(how.reactions);
  for (activation_input& input : node.inputs) {
    const event_index e = input.event.index;
    event_node& event = events_[e];
    --event.open_inputs;
    touch(e);
    if (how.failed) continue;
    const reaction_draft* declared = reactions.find(event.id);
    input.what = declared != nullptr ? declared->what : reaction::consume;
    switch (input.what) {
      case reaction::consume:
        take(e, node.agent, delivery_state::consumed);
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
  node.failed = how.failed;
  node.ended_ms = now;
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

void graph::reroute(event_index e, const name_list& targets, std::vector<agent_index>& to) {
  name_recipients(targets, to);
  ++events_[e].reroute_acts;
  for (const agent_index a : to) give(e, a);
}

event_index graph::record(const event_draft& what, activation_index source, milliseconds now,
                          std::vector<agent_index>& to) {
  event_index e = find_event(what.id);
  const bool late = e != nobody;
  if (!late) e = new_event(what.id, now);
  event_node& node = events_[e];
  assert(!late || node.placeholder);
  node.placeholder = false;
  node.late = late;
  if (what.kind) node.kind.emplace(*what.kind);
  node.fyi = what.fyi;
  node.submit = what.submit;
  if (source != nobody) add_output(source, e, now);
  update_reachable(e);
  touch(e);
  name_recipients(what.recipients, to);
  for (const agent_index a : to) {
    if (!late || find_delivery(e, a) == nullptr) give(e, a);
  }
  return e;
}

void graph::add_output(activation_index v, event_index e, milliseconds now) {
  activation_node& from = activations_[v];
  event_node& node = events_[e];
  if (!from.used_fixed) fix_used(v);
  node.source = v;
  node.source_agent = from.agent;
  if (from.outputs.size() > 16 && from.outputs.size() > 2 * std::size_t{from.remembered_outputs}) {
    std::erase_if(from.outputs, [this](event_ref r) { return resolve(r) == nullptr || !resolve(r)->remembered; });
  }
  from.outputs.push_back(ref(e));
  ++from.output_count;
  ++from.remembered;
  ++from.remembered_outputs;
  if (from.open) activate(v, now);
  if (node.late) return;
  node.derived = true;
  node.ancestry = from.ancestry;
}

void graph::fix_used(activation_index v) {
  activation_node& node = activations_[v];
  node.used_fixed = true;
  node.used_all = node.open;
  ++epoch_;
  if (marks_.size() < events_.size()) marks_.resize(events_.size(), 0);
  auto all = std::make_shared<std::vector<event_ref>>();
  const auto add = [&](event_ref r) {
    const event_node* event = resolve(r);
    if (event == nullptr || event->settled || marks_[r.index] == epoch_) return;
    marks_[r.index] = epoch_;
    all->push_back(r);
  };
  for (const activation_input& input : node.inputs) {
    if (!node.uses(input)) continue;
    const event_node& event = events_[input.event.index];
    add(input.event);
    if (event.ancestry) std::for_each(event.ancestry->begin(), event.ancestry->end(), add);
    node.inherited = united(node.inherited, event.generators, limits_.generators);
  }
  if (!all->empty()) node.ancestry = std::move(all);
}

void graph::fix_generators(activation_index source, std::span<const event_index> outputs) {
  activation_node& from = activations_[source];
  if (!from.inherited && !from.reducing() && !from.self) {
    from.self = std::make_shared<const generator>(generator{from.ordinal, from.id, agents_[from.agent].name});
  }
  for (const event_index e : outputs) {
    event_node& node = events_[e];
    if (node.late) continue;
    if (from.inherited) {
      node.generators = from.inherited;
    } else if (!from.reducing()) {
      node.generators = single_generator(from.self, limits_.generators);
    }
    if (node.generators && node.generators->overflow) ++counters_.generator_overflows;
  }
}

void graph::count_consumer(activation_index v) {
  const activation_node& node = activations_[v];
  if (node.failed || !node.reducing()) return;
  for (const activation_input& input : node.inputs) {
    if (input.what == reaction::consume) ++events_[input.event.index].reducing_consumers;
  }
}

event_index graph::record_system_event(std::string_view id, std::span<const agent_index> to, milliseconds now) {
  const event_index e = new_event(id, now);
  events_[e].system = true;
  touch(e);
  for (const agent_index a : to) give(e, a);
  return e;
}

bool graph::has_pending() const {
  return std::any_of(agents_.begin(), agents_.end(), [](const agent_node& a) { return !a.pending.empty(); });
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

// ---- activity

void graph::activate(activation_index v, milliseconds now) {
  activation_node& node = activations_[v];
  if (node.active) unlink_active(v);
  node.heard_ms = now;
  node.earlier_active = last_active_;
  node.later_active = nobody;
  (last_active_ == nobody ? first_active_ : activations_[last_active_].later_active) = v;
  last_active_ = v;
  if (!node.active) ++active_count_;
  node.active = true;
}

void graph::unlink_active(activation_index v) {
  activation_node& node = activations_[v];
  (node.earlier_active == nobody ? first_active_ : activations_[node.earlier_active].later_active) =
      node.later_active;
  (node.later_active == nobody ? last_active_ : activations_[node.later_active].earlier_active) =
      node.earlier_active;
}

void graph::stall(activation_index v) {
  if (!activations_[v].active) return;
  unlink_active(v);
  activations_[v].active = false;
  --active_count_;
}

// ---- healing

void graph::give_up_submit(event_index e) {
  event_node& node = events_[e];
  node.submit = false;
  node.gave_up_submit = true;
  for (delivery& d : node.deliveries) {
    if (d.state == delivery_state::pending) close_delivery(e, d, delivery_state::withdrawn);
  }
  update_reachable(e);
  touch(e);
}

void graph::give_back(event_index e, agent_index to) {
  give(e, to);
  const auto at = delivery_position(events_[e].deliveries, to);
  if (at != events_[e].deliveries.end() && at->agent == to) at->given_back = true;
}

void graph::undo_give_back(event_index e) {
  for (delivery& d : events_[e].deliveries) {
    if (d.given_back && d.state == delivery_state::pending) close_delivery(e, d, delivery_state::withdrawn);
  }
}

// ---- the end of a message

void graph::touch(event_index e) {
  if (events_[e].touched) return;
  events_[e].touched = true;
  touched_.push_back(e);
}

void graph::set_orphan_window(event_index e, window_state state, milliseconds due_ms) {
  events_[e].orphan_window = state;
  events_[e].orphan_due_ms = due_ms;
  touch(e);
}

void graph::settle() {
  std::sort(touched_.begin(), touched_.end(),
            [this](event_index a, event_index b) { return events_[a].ordinal < events_[b].ordinal; });
  for (const event_index e : touched_) {
    event_node& node = events_[e];
    node.touched = false;
    if (node.settled) {
      if (!node.remembered && node.open_inputs == 0) free_event(e);
      continue;
    }
    if (node.pending > 0 || node.open_inputs > 0 || node.orphan_window == window_state::running) continue;
    node.settled = true;
    --live_events_;
    settled_.push_back(e);
  }
  touched_.clear();
}

void graph::forget() {
  while (settled_.size() > limits_.settled_events) {
    forget(settled_.front());
    settled_.pop_front();
  }
  for (const activation_index v : ended_) forget_if_unneeded(v);
  ended_.clear();
}

void graph::forget(event_index e) {
  event_node& node = events_[e];
  event_ids_.erase(node.id);
  node.remembered = false;
  ++counters_.forgotten_events;
  for (const activation_index v : node.inputs_of) release(v);
  node.inputs_of.clear();
  if (node.source != nobody) {
    --activations_[node.source].remembered_outputs;
    release(node.source);
    node.source = nobody;
  }
  if (node.open_inputs == 0) free_event(e);
}

void graph::release(activation_index v) {
  --activations_[v].remembered;
  forget_if_unneeded(v);
}

void graph::forget_if_unneeded(activation_index v) {
  activation_node& node = activations_[v];
  if (node.open || node.remembered > 0 || node.id.empty()) return;
  activation_ids_.erase(node.id);
  node = activation_node{};
  free_activations_.push_back(v);
}

void graph::free_event(event_index e) {
  const std::uint32_t generation = events_[e].generation + 1;
  events_[e] = event_node{};
  events_[e].generation = generation;
  free_events_.push_back(e);
}

}  // namespace digd::graph
