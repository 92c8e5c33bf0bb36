#include "healing/healer.h"

#include "rules/text.h"

namespace digd {

void healer::open_case(bool as_is, const capabilities& able) {
  as_is_ = as_is;
  able_ = able;
  healed_any_ = false;
}

void healer::close_case() {
  if (healed_any_) ++budget_used_;
}

bool healer::can(action how) const {
  switch (how) {
    case action::inject: return able_.inject;
    case action::reroute: return able_.reroute;
    case action::create: return able_.create;
    default: return true;
  }
}

// The events of one rule count their attempts apart where the finding is about an event that comes back.
bool healer::attempts_used_up(const rule& which, const finding& what) const {
  if (!which.options.attempts) return false;
  const std::uint64_t used = which.id == rule_id::orphaned_event ? graph_.event(what.event).orphan_healings
                                                                 : attempts_[index_of(which.id)];
  return used >= settings_.of(which.id).max_attempts;
}

void healer::count_attempt(const rule& which, const finding& what) {
  if (!which.options.attempts) return;
  if (which.id == rule_id::orphaned_event) {
    graph_.count_orphan_healing(what.event);
  } else {
    ++attempts_[index_of(which.id)];
  }
}

digd::cause healer::obstacle(const rule& which, const finding& what, const remedy& so_far) const {
  if (as_is_) return cause::as_is;
  if (!can(which.healing)) return cause::unsupported;
  if (which.healing != action::inject && so_far.targets.empty()) return cause::target;
  if (attempts_used_up(which, what)) return cause::attempts;
  if (budget_used_ >= settings_.budget) return cause::budget;
  return cause::none;
}

remedy healer::decide(const rule& which, const finding& what) {
  remedy r;
  which.targets(graph_, what, r.targets);
  std::erase_if(r.targets, [this](graph::agent_index a) { return !graph_.agent(a).in_roster; });
  r.cause = obstacle(which, what, r);
  const mode how = settings_.effective_mode(which.id);
  if (r.cause == cause::none && how >= mode::shadow) r.healing = which.healing;
  if (how != mode::enforce) r.cause = cause::mode;
  if (!r.healed()) return r;
  healed_any_ = true;
  count_attempt(which, what);
  if (able_.inject || which.healing == action::create) {
    const rule_settings& s = settings_.of(which.id);
    r.text = text::fill(s.text.empty() ? which.text() : std::string_view(s.text), which.facts(graph_, what));
  }
  return r;
}

}  // namespace digd
