// Calls of language models, as a gateway reports them. It reports no messages between agents, and no end of a turn.
#include <utility>

#include "ingest/hooks/session.h"

namespace digd::hooks {

// Each call is an activation of its own: a caller may make several at once, and `fan_out` counts for each alone.
void session::want_model(const call& of, agent& caller, taken& into) {
  if (!may_wait()) return;
  agent* model = find_agent(of.target);
  if (model == nullptr) {
    if (agents_.size() >= max_agents) {
      ++ignored_;
      return;
    }
    model = &add_agent(of.target);
    out_.agent_joined(model->name);
  }
  const std::string activation = out_.activation_started(caller.name, std::exchange(caller.returned, {}));
  if (takes_usage_) out_.add_usage(activation, {.model_calls = 1}, 0);
  const std::string made = out_.event(
      activation,
      {.recipients = {model->name}, .kind = "model_call", .text = of.text, .tool = {}, .fingerprint = of.fingerprint});
  wait_for_verdict(
      into,
      {.kind = waiting_kind::model, .event = made, .sender = &caller, .receiver = model, .takes_text = of.takes_text});
  out_.activation_ended(activation, {}, nullptr);
}

void session::read_by_model(const waiting& w) {
  out_.activation_ended(out_.activation_started(w.receiver->name, {w.event}), {}, nullptr);
}

}  // namespace digd::hooks
