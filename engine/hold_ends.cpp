// When a hold opens and when it ends. healing/hold_end.cpp carries its end out.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/run.h"

namespace digd {

void run::open_hold_on(const held_event& held, const verdict& v, const answer& out, std::uint32_t session) {
  const graph::event_index e = held.blocked.event;
  open_hold hold{.event = e,
                 .agents = held.given,
                 .sender = view_.sender,
                 .spender = held.spender,
                 .guard = held.placed_by,
                 .session = session,
                 .since = clock_,
                 .due_ms = later(clock_, settings_.guards.hold_ms),
                 .text = v.inject};
  for (const std::uint32_t d : v.detections) {
    if (out.detections[d].rule == held.placed_by) hold.reason = out.detections[d].reason;
  }
  holds_.open(std::move(hold), graph_.event(e).id);
}

void run::end_hold(std::uint64_t number, hold_end decision, std::string text, answer& out) {
  const open_hold hold = holds_.close(number);
  out.interventions.push_back(carry_out_hold_end(graph_, number, hold, decision, std::move(text)));
}

// Releases the holds that the recorded message ended: an activation of a held recipient has the event as an input, none
// of its held deliveries is pending any more, or the client delivered it as is.
void run::end_taken_holds(const message* m, answer& out) {
  std::vector<std::uint64_t> ended = std::exchange(released_holds_, {});
  const bool starts = m != nullptr && m->type == message_type::activation_started;
  const graph::activation_index started = starts ? graph_.find_activation(m->activation) : graph::nobody;
  for (const graph::event_index e : graph_.touched()) {
    for (const std::uint64_t number : holds_.on(e)) {
      if (is_taken(*holds_.find(number), started)) ended.push_back(number);
    }
  }
  std::sort(ended.begin(), ended.end());
  ended.erase(std::unique(ended.begin(), ended.end()), ended.end());
  for (const std::uint64_t number : ended) end_hold(number, hold_end::release, {}, out);
}

// `started`: the activation that the message started; nobody: none.
bool run::is_taken(const open_hold& hold, graph::activation_index started) const {
  const graph::event_node& e = graph_.event(hold.event);
  const auto waits = [&](graph::agent_index a) { return graph_.is_pending(hold.event, a); };
  if (std::none_of(hold.agents.begin(), hold.agents.end(), waits)) return true;
  const bool names_it = started != graph::nobody && !e.inputs_of.empty() && e.inputs_of.back() == started;
  if (!names_it) return false;
  return std::find(hold.agents.begin(), hold.agents.end(), graph_.activation(started).agent) != hold.agents.end();
}

void run::decide(const hold_decision& decision, milliseconds when, answer& out) {
  out.clear();
  const milliseconds now = std::max(when, clock_);
  if (!ended_ && !unjudged_) advance_to(now, out);
  const open_hold* hold = holds_.find(decision.hold);
  if (ended_ || hold == nullptr) {
    out.refused.consider(refusal::hold_closed, "hold",
                         "hold:" + std::to_string(decision.hold) +
                             " is not open: it has ended, or no event was ever held under this number");
    return;
  }
  clock_ = now;
  if (decision.decision == hold_end::release && rule_of(hold->guard).traits.counts == guard_count_kind::spending)
    spending_.restart(hold->spender, clock_);
  end_hold(decision.hold, decision.decision, decision.text, out);
  finish(out);
}

}  // namespace digd
