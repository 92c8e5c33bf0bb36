#include "healing/verdicts.h"

#include <algorithm>

namespace digd {

namespace {

// A verdict whose text is longer gets no further texts. Its detections still name every case.
constexpr std::size_t max_inject_bytes = 64u << 10;

void join_text(const remedy& decided, verdict& v) {
  if (decided.text.empty() || v.inject.size() > max_inject_bytes) return;
  if (!v.inject.empty()) v.inject += "\n\n";
  v.inject += decided.text;
}

// An `fyi` event does not go back to its sender; only the text does.
void carry_out_placement(const held_event& held, graph::graph& g) {
  const graph::event_index e = held.blocked.event;
  if (held.placed == guard_action::hold) return;
  g.intercept(e, held.given);
  if (held.back_to == graph::nobody) return g.set_to_nobody(e);
  if (g.event(e).fyi) return;
  g.give_back(e, held.back_to, std::find(held.given.begin(), held.given.end(), held.back_to) != held.given.end());
}

}  // namespace

void add_remedy(const remedy& decided, action healing, const graph::graph& g, held_event& held, verdict& v) {
  if (healing == action::reroute) {
    held.back_to = decided.targets.front();
    v.action = action::reroute;
    v.recipients = {g.agent(held.back_to).name};
  } else if (v.action == action::deliver) {
    v.action = action::inject;
  }
  join_text(decided, v);
}

void add_guard_remedy(const remedy& decided, const finding& found, const graph::graph& g, held_event& held,
                      verdict& v) {
  join_text(decided, v);
  if (found.action == guard_action::inject) {
    if (v.action == action::deliver) v.action = action::inject;
    return;
  }
  held.placed = found.action;
  held.placed_by = found.rule;
  held.spender = found.agent;
  v.action = found.action == guard_action::hold ? action::hold : action::reroute;
  if (decided.targets.empty()) return;
  held.back_to = decided.targets.front();
  v.recipients = {g.agent(held.back_to).name};
}

void carry_out_verdict(const held_event& held, graph::graph& g) {
  if (held.placed != guard_action::observe) return carry_out_placement(held, g);
  if (held.back_to == graph::nobody) return;
  if (g.event(held.blocked.event).submit) g.give_up_submit(held.blocked.event);
  g.give_back(held.blocked.event, held.back_to);
}

intervention interventions::prepare(graph::graph& g, const rule& rule, const finding& found, const remedy& decided) {
  intervention prepared;
  prepared.action = rule.healing;
  prepared.inject = decided.text;
  if (rule.healing == action::reroute) {
    prepared.event = g.event(found.event).id;
    const std::uint64_t number = give_backs_before_ + g.count_window_give_back(found.event);
    last_give_back_ = std::max(last_give_back_, number);
    prepared.id = "give:" + *prepared.event + ':' + std::to_string(number);
  } else {
    prepared.id = "sys:" + std::to_string(++created_);
  }
  for (const graph::agent_index a : decided.targets) prepared.recipients.push_back(g.agent(a).name);
  std::sort(prepared.recipients.begin(), prepared.recipients.end());
  return prepared;
}

intervention interventions::prepare_cancel(const graph::graph& g, std::span<const graph::activation_index> activations,
                                           const remedy& decided) {
  intervention asks{.id = "cancel:" + std::to_string(++cancels_), .action = action::cancel, .inject = decided.text};
  for (const graph::activation_index v : activations) {
    asks.activations.push_back(g.activation(v).id);
    asks.sessions.push_back(g.activation(v).session);
  }
  return asks;
}

void interventions::carry_out(const intervention& prepared, graph::graph& g, const finding& found,
                              const remedy& decided) {
  if (prepared.action == action::reroute) {
    g.give_back(found.event, decided.targets.front());
  } else {
    g.record_system_event(prepared.id, decided.targets);
  }
}

}  // namespace digd
