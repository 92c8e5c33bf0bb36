// Decides how a guard's finding is handled (docs/guards.md).
#include "healing/healer.h"

namespace digd {

namespace {

action healing_of(guard_action a) {
  switch (a) {
    case guard_action::inject: return action::inject;
    case guard_action::give_back: return action::reroute;
    case guard_action::hold: return action::hold;
    case guard_action::cancel: return action::cancel;
    case guard_action::observe: break;
  }
  return action::none;
}

}  // namespace

digd::cause healer::guard_obstacle(const rule& guard, const finding& found, const guard_case& about,
                                   const remedy& planned) const {
  const bool is_placing = found.event != graph::nobody && found.action != guard_action::inject;
  if (as_is_) return cause::as_is;
  if (is_placing && about.is_placed) return cause::superseded;
  if (!is_able_to(planned.healing)) return cause::unsupported;
  if (found.action == guard_action::give_back) {
    if (planned.targets.empty()) return cause::target;
    if (returns_used_up(planned.targets.front()) && !guard.traits.drops_after_returns) return cause::attempts;
  }
  if (found.action == guard_action::hold && !about.has_deliveries) return cause::target;
  if (found.action == guard_action::cancel && found.event == graph::nobody && !about.has_activations)
    return cause::target;
  if (budget_used_ >= settings_.budget) return cause::budget;
  return cause::none;
}

remedy healer::decide_guard(const rule& guard, finding& found, const guard_case& about) {
  const mode allowed = mode_for(guard, found);
  if (found.action == guard_action::observe) return {.cause = cause::mode};
  remedy decided;
  const graph::agent_index sender = found.sender;
  if (found.action == guard_action::give_back && sender != graph::nobody && graph_.agent(sender).in_roster)
    decided.targets.push_back(sender);
  decided.healing = healing_of(found.action);
  decided.cause = guard_obstacle(guard, found, about, decided);
  // Once the sender has used up its returns, nobody gets its event. So the budget still limits the sender.
  if (!decided.targets.empty() && returns_used_up(decided.targets.front())) decided.targets.clear();
  if (decided.cause != cause::none || allowed < mode::shadow) decided.healing = action::none;
  if (allowed != mode::enforce) decided.cause = cause::mode;
  if (!decided.healed()) return decided;
  healed_any_ = true;
  if (!decided.targets.empty()) ++returns_[decided.targets.front()];
  found.to_nobody = found.action == guard_action::cancel ? !about.has_activations : decided.targets.empty();
  if (able_.inject) fill_in_text(guard, found, decided);
  return decided;
}

}  // namespace digd
