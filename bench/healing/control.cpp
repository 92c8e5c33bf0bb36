#include "bench/healing/control.h"

#include <algorithm>
#include <utility>

#include "bench/healing/reading.h"
#include "engine/quote.h"
#include "rules/text.h"

namespace digd::bench {

instruction recorder::hear(const report& what) {
  instruction told = inner_.hear(what);
  for (const instruction::verdict& v : told.verdicts) note(what.ts, v.action, v.hints);
  for (const instruction::intervention& i : told.interventions) note(what.ts, i.action, i.hints);
  return told;
}

void recorder::note(milliseconds at, digd::action how, const std::vector<hint>& hints) {
  if (how != action::deliver && !hints.empty()) noted_.push_back({at, how, hints.front().rule});
}

control::control(const draws& chance, std::vector<planned_intervention> like, milliseconds lasted)
    : chance_(chance), observer_("\"mode\":\"observe\""), due_(std::move(like)) {
  random_stream s = chance_.at(purpose::control);
  for (planned_intervention& one : due_) one.at = static_cast<milliseconds>(s.uniform(0, static_cast<double>(lasted)));
  std::stable_sort(due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
}

void control::open(const std::vector<std::string>& agents, const parameters& how) {
  agents_ = agents;
  observer_.open(agents, how);
}

std::optional<planned_intervention> control::take(milliseconds now, bool on_event) {
  for (auto it = due_.begin(); it != due_.end() && it->at <= now; ++it) {
    if ((it->action != action::create) != on_event) continue;
    const planned_intervention one = *it;
    due_.erase(it);
    ++made_;
    return one;
  }
  return std::nullopt;
}

instruction control::hear(const report& what) {
  if (what.type == message_type::activation_ended && blocked_in(what) > 0) return on_blocked(what);
  if (what.type == message_type::time) return on_tick(what);
  return observer_.hear(what);
}

// What is due is done to one of the message's events, chosen at random. An event is given back before digd hears of it.
instruction control::on_blocked(report what) {
  const std::optional<planned_intervention> now = take(what.ts, true);
  if (!now) return observer_.hear(what);
  const std::size_t reroutes = blocked_in(what) - what.events.size();
  random_stream s = chance_.at(purpose::control, 0, made_);
  const std::size_t on = s.below(static_cast<std::uint32_t>(blocked_in(what)));
  const bool back = now->action == action::reroute && on >= reroutes;
  if (back) {
    report::event& e = what.events[on - reroutes];
    e.submit = false;
    e.recipients = {what.agent};
  }
  instruction told = observer_.hear(what);
  instruction::verdict& v = told.verdicts[on];
  v.action = back ? action::reroute : action::inject;
  if (back) v.recipients = {what.agent};
  const std::string event = on >= reroutes ? what.events[on - reroutes].id : std::string();
  v.hints = {in_words_of(now->rule, event, {}, anything(event, s))};
  return told;
}

// Where digd's texts name somebody or something, any agents and the event itself.
text_facts control::anything(const std::string& event, random_stream& s) const {
  std::vector<std::string> others = agents_;
  s.shuffle(std::span<std::string>(others));
  others.resize(std::min(others.size(), text::listed_at_most));
  std::string all;
  for (const std::string& name : others) all += (all.empty() ? "" : ", ") + quoted(name);
  return {{"holder", quoted(others.front())}, {"free", all}, {"younger", quoted(event)}};
}

instruction control::on_tick(const report& what) {
  instruction told = observer_.hear(what);
  while (const std::optional<planned_intervention> now = take(what.ts, false)) {
    random_stream s = chance_.at(purpose::control, 0, made_);
    std::vector<std::string> to = agents_;
    if (now->rule != rule_id::deadlock) to = {agents_[s.below(static_cast<std::uint32_t>(agents_.size()))]};
    told.interventions.push_back(
        announce_notice(observer_, "control:" + std::to_string(made_), what.ts, std::move(to), in_words_of(now->rule)));
  }
  return told;
}

instruction::intervention announce_notice(engine_monitor& to, const std::string& id, milliseconds now,
                                          std::vector<std::string> recipients, hint what) {
  report r{.type = message_type::event, .ts = now};
  r.events.push_back({.id = id, .kind = "notice", .recipients = recipients, .fyi = true});
  to.hear(r);
  return {.id = id, .action = action::create, .recipients = std::move(recipients), .hints = {std::move(what)}, .wants_report = false};
}

}  // namespace digd::bench
