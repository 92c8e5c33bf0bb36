// The rules for blocked events, the causes that prevent a healing, and the verdicts.
#include "oracle.h"
#include "scan.h"

#include <algorithm>
#include <utility>

namespace oracle {

namespace {

bool of_kind(const event_record& e, const std::set<std::string>& kinds) {
  return kinds.empty() || (e.kind_ && kinds.count(*e.kind_) != 0);
}

const char* action_of(rule r) {
  switch (r) {
    case rule::early_termination:
    case rule::orphaned_event: return "reroute";
    case rule::deadlock:
    case rule::missing_termination: return "create";
    default: return "inject";
  }
}

bool able(const capabilities& can, rule r) {
  const std::string action = action_of(r);
  return action == "reroute" ? can.reroute_ : action == "create" ? can.create_ : can.inject_;
}

}  // namespace

void evaluator::judge(const message& m, const std::vector<blocked_event>& blocked) {
  // Judge all events before applying a verdict, so that each is judged against the same graph.
  std::vector<std::vector<finding>> findings;
  for (const blocked_event& b : blocked) findings.push_back(findings_on(b));
  std::vector<std::set<rule>> healed;
  std::vector<guarded> by_guards(blocked.size());
  for (std::size_t i = 0; i < blocked.size(); ++i) {
    // What a guard has warned about depends on the events before.
    for (finding& f : guard_findings(m, blocked, i)) findings[i].push_back(std::move(f));
    healed.push_back(heal_blocked(m, blocked[i], findings[i], by_guards[i]));
  }
  judge_spending(m, blocked);
  for (std::string& line : std::exchange(cancel_lines_, {})) out_.push_back(std::move(line));
  const bool was_terminal = h_.terminal_;
  for (std::size_t i = 0; i < blocked.size(); ++i) {
    out_.push_back(line_of(verdict_on(m, blocked[i], healed[i], by_guards[i])));
    apply(blocked[i], findings[i], healed[i]);
    if (!was_terminal) apply_guard(m, blocked[i], by_guards[i]);
  }
  holds_ahead_ = 0;
}

std::vector<finding> evaluator::findings_on(const blocked_event& b) const {
  std::vector<finding> found;
  const event_record& e = h_.events_[b.event_];
  if (h_.terminal_ || b.late_ || e.fyi_) return found;
  find_early_termination(b, found);
  if (!e.submit_) {
    find_orphaned_event(b, found);
    find_excessive_rerouting(b, found);
    find_cross_lineage(b, found);
    find_repeated_subproblem(b, found);
  }
  std::erase_if(found, [&](const finding& f) { return effective_mode(h_, f.rule_) == mode::off; });
  return found;
}

void evaluator::find_early_termination(const blocked_event& b, std::vector<finding>& found) const {
  if (!h_.events_[b.event_].submit_) return;
  const rule_settings& options = settings_of(h_, rule::early_termination);
  const std::set<std::size_t> before = ancestors(h_, b.event_);
  std::set<std::string> unresolved;
  for (std::size_t e : reachable_work(h_)) {
    const bool skipped = options.skip_repeated_ && h_.events_[e].repeated_;
    if (of_kind(h_.events_[e], options.kinds_) && before.count(e) == 0 && !skipped)
      unresolved.insert(h_.events_[e].id_);
  }
  if (!unresolved.empty()) found.push_back({rule::early_termination, std::nullopt, unresolved});
}

void evaluator::find_orphaned_event(const blocked_event& b, std::vector<finding>& found) const {
  const bool any = std::any_of(b.recipients_.begin(), b.recipients_.end(),
                               [&](const std::string& agent) { return in_roster(h_, agent); });
  if (!any) found.push_back({rule::orphaned_event, std::nullopt, {b.recipients_.begin(), b.recipients_.end()}});
}

void evaluator::find_excessive_rerouting(const blocked_event& b, std::vector<finding>& found) const {
  const std::int64_t max_reroutes = settings_of(h_, rule::excessive_rerouting).max_reroutes_;
  if (b.rerouted_ && reroute_acts(h_, b.event_) > max_reroutes && !is_consumed(h_, b.event_))
    found.push_back({rule::excessive_rerouting, std::nullopt, {}});
}

void evaluator::find_cross_lineage(const blocked_event& b, std::vector<finding>& found) const {
  const std::set<std::string>& kinds = settings_of(h_, rule::cross_lineage_aggregation).kinds_;
  const std::size_t max_generators = static_cast<std::size_t>(h_.settings_.generators_);
  auto eligible = [&](const event_record& e) {
    return of_kind(e, kinds) && !e.generators_.empty() && e.generators_.size() <= max_generators;
  };
  const event_record& e = h_.events_[b.event_];
  if (!eligible(e)) return;
  for (const std::string& agent : b.recipients_) {
    if (!in_roster(h_, agent)) continue;
    std::set<std::string> clashing;
    for (std::size_t i = 0; i < h_.events_.size(); ++i) {
      const event_record& x = h_.events_[i];
      if (i == b.event_ || !is_work(x) || !eligible(x) || !is_pending_for(x, agent)) continue;
      const bool common = std::any_of(x.generators_.begin(), x.generators_.end(),
                                      [&](std::size_t g) { return e.generators_.count(g) != 0; });
      if (!common) clashing.insert(x.id_);
    }
    if (!clashing.empty()) found.push_back({rule::cross_lineage_aggregation, agent, clashing});
  }
}

void evaluator::find_repeated_subproblem(const blocked_event& b, std::vector<finding>& found) const {
  const event_record& e = h_.events_[b.event_];
  if (!b.output_ || !of_kind(e, settings_of(h_, rule::repeated_subproblem).kinds_)) return;
  if (!is_reducing(h_, h_.activations_[*e.source_])) return;
  std::set<std::string> repeated;
  for (std::size_t parent : e.derived_from_) {
    if (!is_work(h_.events_[parent])) continue;
    for (std::size_t u = 0; u < h_.activations_.size(); ++u)
      if (u != *e.source_ && is_reducing(h_, h_.activations_[u]) && consumed_by(h_.activations_[u], parent))
        repeated.insert(h_.events_[parent].id_);
  }
  if (!repeated.empty()) found.push_back({rule::repeated_subproblem, std::nullopt, repeated});
}

std::optional<std::string> evaluator::source_agent(std::size_t event) const {
  const event_record& e = h_.events_[event];
  if (!e.source_) return std::nullopt;
  return h_.activations_[*e.source_].agent_;
}

std::optional<std::string> evaluator::returned_to(rule r, std::optional<std::size_t> event) const {
  switch (r) {
    case rule::early_termination:
    case rule::orphaned_event: return source_agent(*event);
    case rule::missing_termination: return h_.activations_[h_.ended_since_gap_.back()].agent_;
    default: return std::nullopt;
  }
}

std::int64_t evaluator::returns_of(const std::string& agent) const {
  const auto found = h_.returns_.find(agent);
  return found == h_.returns_.end() ? 0 : found->second;
}

bool evaluator::has_target(rule r, std::optional<std::size_t> event) const {
  switch (r) {
    case rule::early_termination:
    case rule::orphaned_event:
    case rule::missing_termination: {
      const std::optional<std::string> agent = returned_to(r, event);
      return agent && in_roster(h_, *agent);
    }
    case rule::deadlock: return !h_.roster_.empty();
    default: return true;
  }
}

std::optional<std::string> evaluator::cause_but_mode(rule r, std::optional<std::size_t> event, bool as_is,
                                                     const capabilities& can) const {
  if (as_is) return "as_is";
  if (!able(can, r)) return "unsupported";
  if (!has_target(r, event)) return "target";
  const bool limited = std::string(action_of(r)) != "inject";
  const std::int64_t used =
      r == rule::orphaned_event ? h_.events_[*event].orphan_attempts_ : h_.attempts_[static_cast<std::size_t>(r)];
  if (limited && used >= settings_of(h_, r).max_attempts_) return "attempts";
  const std::optional<std::string> agent = returned_to(r, event);
  if (agent && returns_of(*agent) >= h_.settings_.max_returns_per_agent_) return "attempts";
  if (h_.budget_spent_ >= h_.settings_.budget_) return "budget";
  return std::nullopt;
}

// `except` applies to the detection's agent or, if there is none, to the agent of the event's source.
mode evaluator::mode_for(rule r, const std::optional<std::string>& agent, std::optional<std::size_t> event) const {
  const mode m = effective_mode(h_, r);
  std::optional<std::string> concerned = agent;
  if (!concerned && event) concerned = source_agent(*event);
  const bool excepted = concerned && settings_of(h_, r).except_.count(*concerned) != 0;
  return excepted ? std::min(m, mode::observe) : m;
}

// Sets healing and cause from the mode and `stopped_by`, writes the line, and returns whether digd heals the detection.
bool evaluator::report(detection d, std::optional<std::size_t> event, const std::optional<std::string>& stopped_by) {
  const mode m = mode_for(d.rule_, d.agent_, event);
  d.healed_ = m == mode::enforce && !stopped_by;
  if (m != mode::enforce) d.cause_ = "mode";
  else d.cause_ = stopped_by;
  if (!stopped_by && m >= mode::shadow)
    d.healing_ = !d.action_ ? action_of(d.rule_) : *d.action_ == "return" ? "reroute" : *d.action_;
  out_.push_back(line_of(d));
  return d.healed_;
}

void evaluator::count_attempt(rule r, std::optional<std::size_t> event) {
  if (r == rule::orphaned_event) ++h_.events_[*event].orphan_attempts_;
  else ++h_.attempts_[static_cast<std::size_t>(r)];
  if (const std::optional<std::string> agent = returned_to(r, event)) ++h_.returns_[*agent];
}

std::set<rule> evaluator::heal_blocked(const message& m, const blocked_event& b, const std::vector<finding>& findings,
                                       guarded& by_guards) {
  const capabilities& can = h_.sessions_.at(m.session_).capabilities_;
  std::set<rule> healed;
  bool any = false;
  for (const finding& f : findings) {
    if (is_guard(f.rule_)) {
      heal_guard(m, b, f, healed, any, by_guards);
      continue;
    }
    const std::optional<std::string> stopped = cause_but_mode(f.rule_, b.event_, m.as_is_, can);
    const detection d{f.rule_,      m.seq_,      h_.clock_, m.session_,   h_.events_[b.event_].id_,
                      f.agent_,     f.evidence_, false,     std::nullopt, std::nullopt,
                      std::nullopt, {}};
    if (!report(d, b.event_, stopped)) continue;
    if (healed.insert(f.rule_).second) count_attempt(f.rule_, b.event_);
  }
  // A healed event uses one of the budget, however many rules fired on it.
  if (any || !healed.empty()) ++h_.budget_spent_;
  return healed;
}

verdict evaluator::verdict_on(const message& m, const blocked_event& b, const std::set<rule>& healed,
                              const guarded& by_guards) const {
  verdict v{m.seq_, m.session_, h_.events_[b.event_].id_, "deliver", std::nullopt, false, by_guards.hold_};
  if (healed.count(rule::early_termination) != 0 || healed.count(rule::orphaned_event) != 0) {
    v.action_ = "reroute";
    v.recipients_ = std::vector<std::string>{*source_agent(b.event_)};
    v.inject_ = h_.sessions_.at(m.session_).capabilities_.inject_;
  } else if (!healed.empty()) {
    v.action_ = "inject";
    v.inject_ = true;
  }
  if (!by_guards.injects_) return v;
  v.inject_ = v.inject_ || h_.sessions_.at(m.session_).capabilities_.inject_;
  if (!by_guards.placed_) {
    if (v.action_ == "deliver") v.action_ = "inject";
  } else if (*by_guards.placed_ == "hold") {
    v.action_ = "hold";
  } else {
    v.action_ = "reroute";
    if (by_guards.back_to_) v.recipients_ = std::vector<std::string>{*by_guards.back_to_};
  }
  return v;
}

void evaluator::apply(const blocked_event& b, const std::vector<finding>& findings, const std::set<rule>& healed) {
  event_record& e = h_.events_[b.event_];
  if (healed.count(rule::early_termination) != 0) {
    e.submit_ = false;
    e.submit_returned_ = true;
    for (delivery& d : e.deliveries_)
      if (d.state_ == delivery_state::pending) d.state_ = delivery_state::withdrawn;
    give(b.event_, *source_agent(b.event_), true);
  } else if (e.submit_) {
    h_.terminal_ = true;
  }
  const bool orphaned =
      std::any_of(findings.begin(), findings.end(), [](const finding& f) { return f.rule_ == rule::orphaned_event; });
  if (healed.count(rule::orphaned_event) != 0) give(b.event_, *source_agent(b.event_), true);
  else if (orphaned) e.orphan_ = {std::nullopt, true, true};
}

}  // namespace oracle
