// How a hold opens and how it ends.
#include <algorithm>
#include <string>
#include <utility>

#include "base/quote.h"
#include "engine/run.h"

namespace digd {

namespace {

// The text for the sender of a returned event, if the decision or the time limit has none.
std::string text_of_return(const graph::event_node& e, bool to_nobody, const std::string& reason) {
  const std::string held = " was held for a person and not released. ";
  if (to_nobody) return "The event " + quoted_briefly(e.id) + held + "It is not delivered. " + reason;
  return "Your event " + quoted_briefly(e.id) + held + (e.fyi ? "It is not delivered. " : "It is back with you. ") +
         reason;
}

}  // namespace

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

// Released, the event keeps its deliveries. Returned, it goes to its sender; without one in the roster, to nobody.
// Another hold on the event stays open: a person still decides on the deliveries that it has.
void run::end_hold(std::uint64_t number, hold_end decision, std::string text, answer& out) {
  const open_hold hold = holds_.close(number);
  const graph::event_node& e = graph_.event(hold.event);
  graph_.touch(hold.event);
  intervention ends{.id = "hold:" + std::to_string(number), .action = action::release, .event = e.id};
  ends.inject = std::move(text);
  ends.sessions.push_back(hold.session);
  std::vector<graph::agent_index> recipients = hold.agents;
  if (decision == hold_end::give_back) {
    ends.action = action::reroute;
    recipients.clear();
    graph_.intercept(hold.event, hold.agents);
    if (hold.sender != graph::nobody && graph_.agent(hold.sender).in_roster) recipients.push_back(hold.sender);
    if (ends.inject.empty()) ends.inject = text_of_return(e, recipients.empty(), hold.reason);
    if (recipients.empty()) {
      graph_.set_to_nobody(hold.event);
    } else if (!e.fyi) {
      const bool was_recipient = std::find(hold.agents.begin(), hold.agents.end(), hold.sender) != hold.agents.end();
      graph_.give_back(hold.event, hold.sender, was_recipient);
    }
  }
  for (const graph::agent_index a : recipients) ends.recipients.push_back(graph_.agent(a).name);
  std::sort(ends.recipients.begin(), ends.recipients.end());
  out.interventions.push_back(std::move(ends));
}

// Releases the holds that the recorded message ended: an activation of a held recipient names the event, no held
// delivery is pending any more, or the client delivered it as is.
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
