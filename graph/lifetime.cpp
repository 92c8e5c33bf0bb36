// The lifetime of nodes: active activations, and settling and forgetting of events.
#include <algorithm>
#include <memory>
#include <type_traits>

#include "graph/graph.h"

namespace digd::graph {

namespace {

// Constructs an empty node in place of the old one, which is faster than assigning an empty node.
template <class Node>
void reset(Node& node) {
  static_assert(std::is_nothrow_default_constructible_v<Node>);
  std::destroy_at(&node);
  std::construct_at(&node);
}

}  // namespace

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
  (node.earlier_active == nobody ? first_active_ : activations_[node.earlier_active].later_active) = node.later_active;
  (node.later_active == nobody ? last_active_ : activations_[node.later_active].earlier_active) = node.earlier_active;
}

void graph::stall(activation_index v) {
  if (!activations_[v].active) return;
  unlink_active(v);
  activations_[v].active = false;
  --active_count_;
}

// ---- the end of a message

void graph::touch(event_index e) {
  event_node& node = events_[e];
  if (!node.changed) changed_.push_back(e);
  node.changed = true;
  if (node.touched) return;
  node.touched = true;
  touched_.push_back(e);
}

void graph::take_changed(std::vector<event_index>& to) {
  to.clear();
  to.swap(changed_);
  for (const event_index e : to) events_[e].changed = false;
  count_visited(to.size());
}

void graph::set_window(event_index e, window_state state) {
  events_[e].window = state;
  touch(e);
}

// Called when the event settles. Drops the list of ancestors if all of them are settled: they never become live again.
void graph::drop_settled_ancestry(event_node& node) const {
  if (!node.ancestry) return;
  const auto& members = node.ancestry->members;
  std::uint32_t& at = node.ancestry->settled_up_to;
  for (count_visited(1); at < members.size(); ++at, count_visited(1)) {
    const event_node* ancestor = resolve(members[at]);
    if (ancestor != nullptr && !ancestor->settled) return;
  }
  node.ancestry.reset();
}

void graph::settle() {
  reduced_.of = nobody;
  count_visited(touched_.size());
  std::sort(touched_.begin(), touched_.end(),
            [this](event_index a, event_index b) { return events_[a].ordinal < events_[b].ordinal; });
  changed_.clear();
  for (const event_index e : touched_) {
    event_node& node = events_[e];
    node.touched = node.changed = false;
    if (node.settled) {
      if (!node.remembered && node.open_inputs == 0) free_event(e);
      continue;
    }
    if (node.pending > 0 || node.open_inputs > 0 || node.window == window_state::running) continue;
    node.settled = true;
    drop_settled_ancestry(node);
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
  for (const activation_index v : ended_) {
    activations_[v].inherited.reset();  // no output can follow
    activations_[v].ancestry.reset();
    forget_if_unneeded(v);
  }
  ended_.clear();
}

void graph::forget(event_index e) {
  event_node& node = events_[e];
  event_ids_.erase(node.id, e);
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
  activation_ids_.erase(node.id, v);
  reset(node);
  free_activations_.push_back(v);
}

void graph::free_event(event_index e) {
  const std::uint32_t generation = events_[e].generation + 1;
  drop_kind(events_[e]);
  reset(events_[e]);
  events_[e].generation = generation;
  free_events_.push_back(e);
}

}  // namespace digd::graph
