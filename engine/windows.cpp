#include "engine/windows.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace digd {

using graph::window_state;

milliseconds later(milliseconds a, milliseconds b) {
  constexpr milliseconds max_time = std::numeric_limits<milliseconds>::max();
  return a > max_time - b ? max_time : a + b;
}

windows::windows(graph::graph& g, const run_settings& settings) : graph_(g), settings_(settings) {
  for (const rule* r : catalog()) {
    if (r->traits.window == scope::run) run_windows_.push_back({r});
    if (r->traits.window == scope::event) event_rule_ = r;
  }
}

std::optional<due_item> windows::next() const {
  std::optional<due_item> first;
  // Called in the order in which items of the same time are due.
  const auto consider = [&](const due_item& item) {
    if (!first || item.at < first->at) first = item;
  };
  if (const auto v = graph_.longest_silent(); v != graph::nobody) {
    consider({later(graph_.activation(v).heard_ms, settings_.limits.stalled_ms), nullptr, v});
  }
  for (const run_window& w : run_windows_) {
    if (w.state == window_state::running) consider({w.due_ms, w.owner, graph::nobody});
  }
  if (!event_windows_.empty()) consider({event_windows_.begin()->due_ms, event_rule_, event_windows_.begin()->event});
  return first;
}

void windows::update_run_window(run_window& w, milliseconds now, bool live) {
  const bool holds = live && is_on(*w.owner) && w.owner->holds(graph_, graph::nobody);
  if (!holds) {
    w = {w.owner};
  } else if (w.state == window_state::idle) {
    w.state = window_state::running;
    w.due_ms = later(now, settings_.of(w.owner->id).window_ms);
  }
}

void windows::set_event_window(graph::event_index e, window_state state, milliseconds due_ms) {
  if (const auto before = event_due_.find(e); before != event_due_.end()) {
    event_windows_.erase({before->second, e});
    event_due_.erase(before);
  }
  graph_.set_window(e, state);
  if (state != window_state::running) return;
  event_windows_.insert({due_ms, e});
  event_due_.emplace(e, due_ms);
}

void windows::update_event_window(graph::event_index e, milliseconds now, bool live) {
  const bool holds = live && is_on(*event_rule_) && event_rule_->holds(graph_, e);
  const window_state state = graph_.event(e).window;
  if (!holds && state != window_state::idle) set_event_window(e, window_state::idle, 0);
  if (holds && state == window_state::idle) {
    set_event_window(e, window_state::running, later(now, settings_.of(event_rule_->id).window_ms));
  }
}

void windows::update(milliseconds now, bool live, bool on_hold) {
  for (run_window& w : run_windows_) update_run_window(w, now, live && !on_hold);
  if (event_rule_ == nullptr) return;
  const bool were_watched = std::exchange(are_events_watched_, live && is_on(*event_rule_));
  if (!are_events_watched_) {
    while (!event_windows_.empty()) set_event_window(event_windows_.begin()->event, window_state::idle, 0);
  }
  graph_.take_changed(changed_);
  if (are_events_watched_ && !were_watched) changed_ = graph_.touched();
  for (const graph::event_index e : changed_) update_event_window(e, now, live);
}

void windows::fired(const due_item& item, bool healed) {
  const window_state state = healed ? window_state::idle : window_state::fired;
  if (item.window_of == event_rule_) return set_event_window(item.index, state, 0);
  for (run_window& w : run_windows_) {
    if (w.owner != item.window_of) continue;
    w.state = state;
    w.fired = true;
  }
}

std::vector<due_item> windows::unfired() const {
  std::vector<due_item> items;
  for (const run_window& w : run_windows_) {
    if (w.state == window_state::running && !w.fired) items.push_back({w.due_ms, w.owner, graph::nobody});
  }
  const auto first_event = static_cast<std::ptrdiff_t>(items.size());
  for (const event_window& w : event_windows_) items.push_back({w.due_ms, event_rule_, w.event});
  std::sort(items.begin() + first_event, items.end(), [this](const due_item& a, const due_item& b) {
    return graph_.event(a.index).id < graph_.event(b.index).id;
  });
  return items;
}

void windows::mark_reported(graph::event_index e) { set_event_window(e, window_state::fired, 0); }

}  // namespace digd
