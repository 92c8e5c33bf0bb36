#include "healing/healer.h"

#include <algorithm>

#include "rules/text.h"

namespace digd {

namespace {

// Early termination, orphaned events and missing termination make one agent act again. `max_returns_per_agent` bounds
// it.
bool makes_an_agent_act_again(rule_id id) {
  return id == rule_id::early_termination || id == rule_id::orphaned_event || id == rule_id::missing_termination;
}

}  // namespace

void healer::open_case(bool as_is, const capabilities& able) {
  as_is_ = as_is;
  able_ = able;
  healed_any_ = false;
}

void healer::close_case() {
  if (healed_any_) ++budget_used_;
}

bool healer::can(action action) const {
  switch (action) {
    case action::inject: return able_.inject;
    case action::reroute: return able_.reroute;
    case action::create: return able_.create;
    default: return true;
  }
}

// The events of one rule count their attempts apart where the finding is about an event that comes back.
bool healer::attempts_used_up(const rule& which, const finding& finding) const {
  if (!which.options.attempts) return false;
  const std::uint64_t used =
      which.id == rule_id::orphaned_event ? graph_.event(finding.event).orphan_healings : attempts_[index_of(which.id)];
  return used >= settings_.of(which.id).max_attempts;
}

bool healer::returns_used_up(const rule& which, const remedy& so_far) const {
  if (!makes_an_agent_act_again(which.id)) return false;
  const auto found = returns_.find(so_far.targets.front());
  return (found == returns_.end() ? 0 : found->second) >= settings_.max_returns_per_agent;
}

// A rule only observes the agents in its `except`: the agent of the finding, else the author of its event.
mode healer::mode_of(const rule& which, const finding& finding) const {
  const mode strongest = settings_.effective_mode(which.id);
  const std::vector<std::string>& except = settings_.of(which.id).except;
  if (except.empty()) return strongest;
  graph::agent_index about = finding.agent;
  if (about == graph::nobody && finding.event != graph::nobody) about = graph_.event(finding.event).source_agent;
  if (about == graph::nobody) return strongest;
  const bool excepted = std::find(except.begin(), except.end(), graph_.agent(about).name) != except.end();
  return excepted ? std::min(strongest, mode::observe) : strongest;
}

void healer::count_attempt(const rule& which, const finding& finding, const remedy& done) {
  if (makes_an_agent_act_again(which.id)) ++returns_[done.targets.front()];
  if (!which.options.attempts) return;
  if (which.id == rule_id::orphaned_event) {
    graph_.count_orphan_healing(finding.event);
  } else {
    ++attempts_[index_of(which.id)];
  }
}

digd::cause healer::obstacle(const rule& which, const finding& finding, const remedy& so_far) const {
  if (as_is_) return cause::as_is;
  if (!can(which.healing)) return cause::unsupported;
  if (which.healing != action::inject && so_far.targets.empty()) return cause::target;
  if (attempts_used_up(which, finding) || returns_used_up(which, so_far)) return cause::attempts;
  if (budget_used_ >= settings_.budget) return cause::budget;
  return cause::none;
}

remedy healer::decide(const rule& which, const finding& finding) {
  remedy r;
  which.targets(graph_, finding, r.targets);
  std::erase_if(r.targets, [this](graph::agent_index a) { return !graph_.agent(a).in_roster; });
  r.cause = obstacle(which, finding, r);
  const mode current_mode = mode_of(which, finding);
  if (r.cause == cause::none && current_mode >= mode::shadow) r.healing = which.healing;
  if (current_mode != mode::enforce) r.cause = cause::mode;
  if (!r.healed()) return r;
  healed_any_ = true;
  count_attempt(which, finding, r);
  if (able_.inject || which.healing == action::create) {
    const rule_settings& s = settings_.of(which.id);
    r.text = text::fill(s.text.empty() ? which.text() : std::string_view(s.text), which.facts(graph_, finding));
  }
  return r;
}

remedy healer::decide_at_end(const rule& which, const finding& finding) const {
  return {.cause = mode_of(which, finding) == mode::enforce ? cause::ended : cause::mode};
}

}  // namespace digd
