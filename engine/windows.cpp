#include "engine/windows.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "rules/rule.h"

namespace digd {

using graph::window_state;

milliseconds later(milliseconds a, milliseconds b) {
  constexpr milliseconds most = std::numeric_limits<milliseconds>::max();
  return a > most - b ? most : a + b;
}

std::optional<due_item> windows::next() const {
  std::optional<due_item> first;
  const auto consider = [&](milliseconds at, due_kind kind, std::uint32_t index) {
    if (!first || std::tie(at, kind) < std::tie(first->at, first->kind)) first = due_item{at, kind, index};
  };
  if (const auto v = graph_.longest_silent(); v != graph::nobody) {
    consider(later(graph_.activation(v).heard_ms, settings_.limits.stalled_ms), due_kind::stall, v);
  }
  if (deadlock_.state == window_state::running) consider(deadlock_.due_ms, due_kind::deadlock, graph::nobody);
  if (missing_termination_.state == window_state::running) {
    consider(missing_termination_.due_ms, due_kind::missing_termination, graph::nobody);
  }
  if (!orphans_.empty()) consider(orphans_.begin()->due_ms, due_kind::orphan, orphans_.begin()->event);
  return first;
}

void windows::step(run_window& w, rule_id id, milliseconds now, bool live) {
  const bool holds = live && settings_.effective_mode(id) != mode::off && rule_of(id).holds(graph_, graph::nobody);
  if (!holds) {
    w = {};
  } else if (w.state == window_state::idle) {
    w.state = window_state::running;
    w.due_ms = later(now, settings_.of(id).window_ms);
  }
}

void windows::set_orphan(graph::event_index e, window_state state, milliseconds due_ms) {
  if (const auto before = orphan_due_.find(e); before != orphan_due_.end()) {
    orphans_.erase({before->second, e});
    orphan_due_.erase(before);
  }
  graph_.set_orphan_window(e, state);
  if (state != window_state::running) return;
  orphans_.insert({due_ms, e});
  orphan_due_.emplace(e, due_ms);
}

void windows::step_orphan(graph::event_index e, milliseconds now, bool live) {
  constexpr rule_id id = rule_id::orphaned_event;
  const bool holds = live && settings_.effective_mode(id) != mode::off && rule_of(id).holds(graph_, e);
  const window_state state = graph_.event(e).orphan_window;
  if (!holds && state != window_state::idle) set_orphan(e, window_state::idle, 0);
  if (holds && state == window_state::idle) {
    set_orphan(e, window_state::running, later(now, settings_.of(id).window_ms));
  }
}

void windows::update(milliseconds now, bool live) {
  step(deadlock_, rule_id::deadlock, now, live);
  step(missing_termination_, rule_id::missing_termination, now, live);
  if (!live || settings_.effective_mode(rule_id::orphaned_event) == mode::off) {
    while (!orphans_.empty()) set_orphan(orphans_.begin()->event, window_state::idle, 0);
  }
  const std::vector<graph::event_index>& touched = graph_.touched();
  for (std::size_t i = 0; i < touched.size(); ++i) step_orphan(touched[i], now, live);
}

void windows::fired(const due_item& due_item, bool healed) {
  const window_state state = healed ? window_state::idle : window_state::fired;
  switch (due_item.kind) {
    case due_kind::deadlock:
      deadlock_.state = state;
      deadlock_.fired = true;
      break;
    case due_kind::missing_termination:
      missing_termination_.state = state;
      missing_termination_.fired = true;
      break;
    case due_kind::orphan: set_orphan(due_item.index, state, 0); break;
    case due_kind::stall: break;
  }
}

std::vector<due_item> windows::unfired() const {
  std::vector<due_item> due_items;
  const auto unfired = [](const run_window& w) { return w.state == window_state::running && !w.fired; };
  if (unfired(deadlock_)) due_items.push_back({deadlock_.due_ms, due_kind::deadlock, graph::nobody});
  if (unfired(missing_termination_)) {
    due_items.push_back({missing_termination_.due_ms, due_kind::missing_termination, graph::nobody});
  }
  const auto first_orphan = static_cast<std::ptrdiff_t>(due_items.size());
  for (const orphan_entry& o : orphans_) due_items.push_back({o.due_ms, due_kind::orphan, o.event});
  std::sort(due_items.begin() + first_orphan, due_items.end(), [this](const due_item& a, const due_item& b) {
    return graph_.event(a.index).id < graph_.event(b.index).id;
  });
  return due_items;
}

void windows::reported_orphan(graph::event_index e) { set_orphan(e, window_state::fired, 0); }

}  // namespace digd
