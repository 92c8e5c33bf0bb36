// Decides how a guard's finding is handled (docs/guards.md).
#include <algorithm>

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

// What a guard does if there is no event that it could return or hold.
guard_action without_event(const std::vector<guard_action>& actions) {
  return actions.back() == guard_action::observe ? guard_action::observe : guard_action::cancel;
}

}  // namespace

// ---- choosing

void healer::choose_action(finding& found) {
  if (found.warning) {
    found.action = guard_action::inject;
    return;
  }
  std::uint64_t& firings = firings_[guard_index(found.rule)][found.sender];
  found.action = settings_.guards.action_of(found.rule, firings++);
  if (found.event == graph::nobody) found.action = without_event(settings_.guards.actions_of(found.rule));
}

// ---- cancelling

// Whether a cancel is for all activations of the run, not only for those of the sender.
bool healer::cancels_run(const finding& found) const {
  return rule_of(found.rule).traits.counts == guard_count_kind::spending && settings_.guards.per == budget_scope::run;
}

std::size_t healer::count_to_cancel(const finding& found) const {
  if (found.activation != graph::nobody) return 1;
  if (cancels_run(found)) return graph_.open_count();
  return found.sender == graph::nobody ? 0 : graph_.agent(found.sender).open.size();
}

std::vector<graph::activation_index> healer::to_cancel(const finding& found) const {
  std::vector<graph::activation_index> activations;
  if (found.activation != graph::nobody) return {found.activation};
  const auto add = [&](graph::agent_index a) {
    const auto& open = graph_.agent(a).open;
    activations.insert(activations.end(), open.begin(), open.end());
  };
  if (cancels_run(found)) {
    for (graph::agent_index a = 0; a < graph_.agent_count(); ++a) add(a);
  } else if (found.sender != graph::nobody) {
    add(found.sender);
  }
  graph_.count_visited(activations.size());
  std::sort(activations.begin(), activations.end(), [this](graph::activation_index a, graph::activation_index b) {
    return graph_.activation(a).id < graph_.activation(b).id;
  });
  return activations;
}

// ---- deciding

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
  if (found.action == guard_action::cancel && found.event == graph::nobody && count_to_cancel(found) == 0)
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
  // Once a sender has used up its returns, a guard that `drops_after_returns` drops the event: nobody gets it. So the
  // guard still limits a sender that ignores its texts.
  if (!decided.targets.empty() && returns_used_up(decided.targets.front())) decided.targets.clear();
  if (decided.cause != cause::none || allowed < mode::shadow) decided.healing = action::none;
  if (allowed != mode::enforce) decided.cause = cause::mode;
  if (!decided.healed()) return decided;
  healed_any_ = true;
  if (!decided.targets.empty()) ++returns_[decided.targets.front()];
  found.to_nobody = found.action == guard_action::cancel ? count_to_cancel(found) == 0 : decided.targets.empty();
  if (able_.inject) fill_in_text(guard, found, decided);
  return decided;
}

}  // namespace digd
