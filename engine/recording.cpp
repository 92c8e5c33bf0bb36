// How a message changes the graph.
#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/run.h"

namespace digd {

void run::record(const message& m, const speaker& from) {
  if (!held_.empty()) spare_recipients_ = std::move(held_.front().blocked.to);
  held_.clear();
  switch (m.type) {
    case message_type::agent_joined: graph_.join(graph_.intern(m.agent)); break;
    case message_type::agent_left:
      if (const auto a = graph_.find_agent(m.agent); a != graph::nobody) graph_.leave(a);
      break;
    case message_type::event: {
      const std::optional<std::string_view>& source = m.events.front().source;
      record_outputs(m, source ? graph_.find_activation(*source) : graph::nobody);
      break;
    }
    case message_type::activation_started: graph_.start(m.activation, m.agent, m.inputs, clock_, from.index); break;
    case message_type::activation_ended: record_end(m); break;
    case message_type::delivery: record_delivery_report(m); break;
    case message_type::gap: graph_.gap(); break;
    case message_type::time:
    case message_type::usage: break;
    case message_type::run_ended: ended_ = true; break;
  }
  if (m.usage || guards_on_) note_spending(m, named_activation(m));
}

void run::record_end(const message& m) {
  const graph::activation_index v = graph_.find_activation(m.activation);
  rerouted_.clear();
  graph_.end(v, m, rerouted_);
  for (const auto& [e, draft] : rerouted_) {
    held_event& held = held_.emplace_back();
    held.blocked.event = e;
    held.blocked.rerouted = true;
    graph_.reroute(e, draft->targets, held.blocked.to, guards_on_ ? &held.given : nullptr);
  }
  record_outputs(m, v);
  graph_.count_consumer(v);
}

void run::record_outputs(const message& m, graph::activation_index source) {
  outputs_.clear();
  for (const event_draft& draft : m.events) {
    held_event& held = held_.emplace_back();
    held.blocked.to = std::move(spare_recipients_);
    const graph::event_index e = graph_.record(draft, source, clock_, held.blocked.to);
    held.blocked.event = e;
    held.judged = !graph_.event(e).late;
    held.draft = &draft;
    if (guards_on_ && held.judged) {
      std::copy_if(held.blocked.to.begin(), held.blocked.to.end(), std::back_inserter(held.given),
                   [&](graph::agent_index a) { return graph_.is_pending(e, a); });
    }
    outputs_.push_back(e);
    if (!held.judged && draft.submit) let_through(true);
  }
  if (source != graph::nobody) graph_.fix_generators(source, outputs_);
}

void run::record_delivery_report(const message& m) {
  if (m.applied != applied::as_is) return;
  const graph::event_index e = reported(m);
  if (e == graph::nobody) return;
  graph_.undo_give_back(e);
  if (guards_on_) {
    graph_.undo_interception(e);
    released_holds_ = holds_.on(e);
  }
  if (graph_.event(e).gave_up_submit) let_through(false);
}

// An answer was delivered. `clean`: no rule fired on it.
void run::let_through(bool clean) {
  if (terminal_) return;
  terminal_ = true;
  progress_ = {.submitted = true, .clean = clean};
}

}  // namespace digd
