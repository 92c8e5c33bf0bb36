#include "bench/healing/control.h"

#include <algorithm>
#include <utility>

#include "base/quote.h"
#include "bench/healing/reading.h"
#include "rules/text.h"

namespace digd::bench {

instruction recorder::hear(const report& report) {
  instruction response = inner_.hear(report);
  for (const instruction::verdict& v : response.verdicts) note(report.ts, v.action, v.hints);
  for (const instruction::intervention& i : response.interventions) note(report.ts, i.action, i.hints);
  return response;
}

void recorder::note(milliseconds at, digd::action action_taken, const std::vector<hint>& hints) {
  if (action_taken != action::deliver && !hints.empty()) noted_.push_back({at, action_taken, hints.front().rule});
}

control::control(const draws& chance, std::vector<planned_intervention> like, milliseconds lasted)
    : chance_(chance), observer_("\"mode\":\"observe\""), due_(std::move(like)) {
  random_stream s = chance_.at(purpose::control);
  for (planned_intervention& intervention : due_)
    intervention.at = static_cast<milliseconds>(s.uniform(0, static_cast<double>(lasted)));
  std::stable_sort(due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
}

void control::open(const std::vector<std::string>& agents, const parameters& parameters) {
  agents_ = agents;
  observer_.open(agents, parameters);
}

std::optional<planned_intervention> control::take(milliseconds now, bool on_event) {
  for (auto it = due_.begin(); it != due_.end() && it->at <= now; ++it) {
    if ((it->action != action::create) != on_event) continue;
    const planned_intervention intervention = *it;
    due_.erase(it);
    ++made_;
    return intervention;
  }
  return std::nullopt;
}

instruction control::hear(const report& report) {
  if (report.type == message_type::activation_ended && blocked_in(report) > 0) return on_blocked(report);
  if (report.type == message_type::time) return on_tick(report);
  return observer_.hear(report);
}

// Makes the due intervention on a random event of the message. An event that is given back changes before digd sees it.
instruction control::on_blocked(report message) {
  const std::optional<planned_intervention> now = take(message.ts, true);
  if (!now) return observer_.hear(message);
  const std::size_t reroutes = blocked_in(message) - message.events.size();
  random_stream s = chance_.at(purpose::control, 0, made_);
  const std::size_t on = s.below(static_cast<std::uint32_t>(blocked_in(message)));
  const bool back = now->action == action::reroute && on >= reroutes;
  if (back) {
    report::event& e = message.events[on - reroutes];
    e.submit = false;
    e.recipients = {message.agent};
  }
  instruction response = observer_.hear(message);
  instruction::verdict& v = response.verdicts[on];
  v.action = back ? action::reroute : action::inject;
  if (back) v.recipients = {message.agent};
  const std::string event = on >= reroutes ? message.events[on - reroutes].id : std::string();
  v.hints = {in_words_of(now->rule, event, {}, anything(event, s))};
  return response;
}

// Values for the placeholders of digd's texts: random agents, and the event itself.
text_facts control::anything(const std::string& event, random_stream& s) const {
  std::vector<std::string> others = agents_;
  s.shuffle(std::span<std::string>(others));
  others.resize(std::min(others.size(), text::max_listed));
  std::string text;
  for (const std::string& name : others) text += (text.empty() ? "" : ", ") + digd::quoted(name);
  return {{"holder", digd::quoted(others.front())}, {"free", text}, {"younger", digd::quoted(event)}};
}

instruction control::on_tick(const report& report) {
  instruction instruction = observer_.hear(report);
  while (const std::optional<planned_intervention> now = take(report.ts, false)) {
    random_stream s = chance_.at(purpose::control, 0, made_);
    std::vector<std::string> to = agents_;
    if (now->rule != rule_id::deadlock) to = {agents_[s.below(static_cast<std::uint32_t>(agents_.size()))]};
    instruction.interventions.push_back(announce_notice(observer_, "control:" + std::to_string(made_), report.ts,
                                                        std::move(to), in_words_of(now->rule)));
  }
  return instruction;
}

instruction::intervention announce_notice(engine_monitor& to, const std::string& id, milliseconds now,
                                          std::vector<std::string> recipients, hint hint) {
  report r{.type = message_type::event, .ts = now};
  r.events.push_back({.id = id, .kind = "notice", .recipients = recipients, .fyi = true});
  to.hear(r);
  return {.id = id,
          .action = action::create,
          .recipients = std::move(recipients),
          .hints = {std::move(hint)},
          .wants_report = false};
}

}  // namespace digd::bench
