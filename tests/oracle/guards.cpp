// What the guards of docs/guards.md do, and why not.
#include "oracle.h"
#include "scan.h"

#include <algorithm>

namespace oracle {

std::optional<std::string> evaluator::sender_of(const message& m) const {
  std::string id;
  if (m.type_ == message_type::event && m.event_.source_) id = *m.event_.source_;
  else if (m.type_ == message_type::activation_started || m.type_ == message_type::activation_ended ||
           m.type_ == message_type::usage)
    id = m.activation_;
  else return std::nullopt;
  return h_.activations_[*find_activation(h_, id)].agent_;
}

// Counts the firing. The n-th of a guard for a sender takes the n-th action; the last one stays.
std::string evaluator::next_action(const finding& f, const std::optional<std::string>& sender) {
  std::size_t before = 0;
  for (const firing_record& other : h_.firings_)
    if (other.guard_ == f.rule_ && !other.warning_ && other.sender_ == sender) ++before;
  h_.firings_.push_back({f.rule_, sender, f.warning_, f.limits_});
  if (f.rule_ == rule::budget)
    for (const std::string& limit : limits_passed(f.agent_))
      h_.passed_.push_back({f.agent_, limit, h_.restarts_.size()});
  if (f.warning_) return "inject";
  const auto& list = h_.settings_.guards_.actions_[static_cast<std::size_t>(f.rule_) - rule_count];
  return list[std::min(before, list.size() - 1)];
}

std::vector<std::string> evaluator::open_activations(const std::optional<std::string>& agent) const {
  std::set<std::string> open;
  for (const activation_record& v : h_.activations_)
    if (v.open_ && (!agent || v.agent_ == *agent)) open.insert(v.id_);
  return {open.begin(), open.end()};
}

void evaluator::cancel(const std::vector<std::string>& activations, bool inject) {
  if (activations.empty()) return;
  cancel_lines_.push_back(line_of(
      intervention{"cancel:" + std::to_string(++h_.cancels_), "cancel", std::nullopt, {}, inject, activations}));
}

void evaluator::heal_guard(const message& m, const blocked_event& b, const finding& f, const std::set<rule>& healed,
                           bool& any, guarded& out) {
  const capabilities& can = h_.sessions_.at(m.session_).capabilities_;
  const std::optional<std::string> sender = sender_of(m);
  const std::string action = next_action(f, sender);
  std::optional<std::string> back_to;
  if (sender && in_roster(h_, *sender)) back_to = sender;
  auto stopped = [&]() -> std::optional<std::string> {
    if (action == "observe") return "mode";
    if (m.as_is_) return "as_is";
    if (action != "inject" && (out.placed_ || healed.count(rule::orphaned_event) != 0)) return "superseded";
    const bool able = action == "inject"   ? can.inject_
                      : action == "return" ? can.reroute_
                      : action == "hold"   ? can.hold_
                                           : can.cancel_;
    if (!able) return "unsupported";
    if (action == "return" && !back_to) return "target";
    if (action == "hold" && b.given_.empty()) return "target";
    if (action == "return" && returns_of(*back_to) >= h_.settings_.max_returns_per_agent_) {
      if (f.rule_ != rule::budget) return "attempts";
      back_to = std::nullopt;
    }
    if (h_.budget_spent_ >= h_.settings_.budget_) return "budget";
    return std::nullopt;
  };
  detection d{f.rule_,      m.seq_,       h_.clock_, m.session_, h_.events_[b.event_].id_, f.agent_, f.evidence_, false,
              std::nullopt, std::nullopt, action,    f.limits_};
  const std::optional<std::string> cause = stopped();
  if (!report(d, b.event_, cause)) return;
  any = true;
  out.injects_ = true;
  if (action == "inject") return;
  out.placed_ = action;
  out.by_ = f.rule_;
  out.spender_ = f.agent_;
  if (action == "return") {
    out.back_to_ = back_to;
    if (back_to) ++h_.returns_[*back_to];
  } else if (action == "hold") {
    out.hold_ = h_.holds_.size() + ++holds_ahead_;
  } else {
    const bool whole_run = f.rule_ == rule::budget && h_.settings_.guards_.per_ == "run";
    if (whole_run) cancel(open_activations(std::nullopt), can.inject_);
    else if (sender) cancel(open_activations(sender), can.inject_);
  }
}

// A message that names an activation and has no event for `budget` to judge.
void evaluator::judge_spending(const message& m, const std::vector<blocked_event>& blocked) {
  const std::optional<std::string> sender = sender_of(m);
  if (!sender || h_.terminal_ || !guard_is_on(rule::budget) || effective_mode(h_, rule::budget) == mode::off) return;
  for (const blocked_event& b : blocked)
    if (!b.late_ && !h_.events_[b.event_].fyi_ && !h_.events_[b.event_].submit_) return;
  std::optional<std::string> agent;
  if (h_.settings_.guards_.per_ == "agent") agent = sender;
  bool first = false;
  for (const std::string& limit : limits_passed(agent)) {
    std::size_t restarts = 0;  // that concern this total
    for (std::size_t i = 0; i < h_.restarts_.size(); ++i)
      if (h_.restarts_[i].agent_ == agent) restarts = i + 1;
    first = first || std::none_of(h_.passed_.begin(), h_.passed_.end(), [&](const passed_record& p) {
              return p.agent_ == agent && p.limit_ == limit && p.restarts_ >= restarts;
            });
  }
  if (!first) return;
  const finding f = *find_budget(sender);
  next_action(f, sender);
  const auto& list = h_.settings_.guards_.actions_[0];
  const std::string action = list.back() == "observe" ? "observe" : "cancel";
  const std::vector<std::string> open = open_activations(agent);
  const capabilities& can = h_.sessions_.at(m.session_).capabilities_;
  std::optional<std::string> cause;
  if (action == "observe") cause = "mode";
  else if (m.as_is_) cause = "as_is";
  else if (!can.cancel_) cause = "unsupported";
  else if (open.empty()) cause = "target";
  else if (h_.budget_spent_ >= h_.settings_.budget_) cause = "budget";
  const detection d{f.rule_,     m.seq_, h_.clock_,    m.session_,   std::nullopt, f.agent_,
                    f.evidence_, false,  std::nullopt, std::nullopt, action,       f.limits_};
  if (!report(d, std::nullopt, cause)) return;
  ++h_.budget_spent_;
  cancel(open, can.inject_);
}

void evaluator::apply_guard(const message& m, const blocked_event& b, const guarded& g) {
  if (!g.placed_) return;
  event_record& e = h_.events_[b.event_];
  if (*g.placed_ == "hold") {
    h_.holds_.push_back({b.event_, b.given_, sender_of(m), g.spender_, g.by_, h_.clock_, true});
    return;
  }
  withdraw(b.event_, b.given_);
  if (!g.back_to_) e.to_nobody_ = true;
  else if (!e.fyi_) give(b.event_, *g.back_to_, b.given_.count(*g.back_to_) == 0);
}

void evaluator::fire_silence(std::size_t activation, std::int64_t at) {
  activation_record& v = h_.activations_[activation];
  const auto& list = h_.settings_.guards_.actions_[3];
  const std::string action = list[v.silent_steps_++];
  const capabilities can = any_session_can();
  std::optional<std::string> cause;
  if (action == "observe") cause = "mode";
  else if (!can.cancel_) cause = "unsupported";
  else if (h_.budget_spent_ >= h_.settings_.budget_) cause = "budget";
  detection d{rule::stall, std::nullopt, at,           std::nullopt, std::nullopt, v.agent_,
              {},          false,        std::nullopt, std::nullopt, action,       {"after_ms"}};
  for (std::size_t input : v.inputs_) d.evidence_.insert(h_.events_[input].id_);
  if (!report(d, std::nullopt, cause)) return;
  ++h_.budget_spent_;
  cancel({v.id_}, can.inject_);
  out_.push_back(cancel_lines_.back());
  cancel_lines_.pop_back();
}

}  // namespace oracle
