#include "healing/healer.h"

#include <algorithm>

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

bool healer::is_able_to(action healing) const {
  switch (healing) {
    case action::inject: return able_.inject;
    case action::reroute: return able_.reroute;
    case action::create: return able_.create;
    case action::hold: return able_.hold;
    case action::cancel: return able_.cancel;
    default: return true;
  }
}

bool healer::attempts_used_up(const rule& rule, const finding& found) const {
  if (!rule.traits.has_attempts()) return false;
  const std::uint64_t used =
      rule.traits.attempts == scope::event ? graph_.event(found.event).attempts : attempts_[index_of(rule.id)];
  return used >= settings_.of(rule.id).max_attempts;
}

bool healer::returns_used_up(const rule& rule, const remedy& planned) const {
  return rule.traits.returns && !planned.targets.empty() && returns_used_up(planned.targets.front());
}

bool healer::returns_used_up(graph::agent_index agent) const {
  const auto known = returns_.find(agent);
  return (known == returns_.end() ? 0 : known->second) >= settings_.max_returns_per_agent;
}

// A rule only observes the agents in its `except`. The agent is that of the finding, or else the author of its event.
mode healer::mode_for(const rule& rule, const finding& found) const {
  const mode strongest = settings_.effective_mode(rule.id);
  const std::vector<std::string>& except = settings_.of(rule.id).except;
  if (except.empty()) return strongest;
  graph::agent_index subject = found.agent;
  if (subject == graph::nobody && found.event != graph::nobody) subject = graph_.event(found.event).source_agent;
  if (subject == graph::nobody) return strongest;
  const bool excepted = std::find(except.begin(), except.end(), graph_.agent(subject).name) != except.end();
  return excepted ? std::min(strongest, mode::observe) : strongest;
}

void healer::count_attempt(const rule& rule, const finding& found, const remedy& decided) {
  if (rule.traits.returns && !decided.targets.empty()) ++returns_[decided.targets.front()];
  switch (rule.traits.attempts) {
    case scope::none: break;
    case scope::run: ++attempts_[index_of(rule.id)]; break;
    case scope::event: graph_.count_attempt(found.event); break;
  }
}

digd::cause healer::obstacle(const rule& rule, const finding& found, const remedy& planned) const {
  if (as_is_) return cause::as_is;
  if (!is_able_to(rule.healing)) return cause::unsupported;
  if (rule.healing != action::inject && planned.targets.empty()) return cause::target;
  if (attempts_used_up(rule, found) || returns_used_up(rule, planned)) return cause::attempts;
  if (budget_used_ >= settings_.budget) return cause::budget;
  return cause::none;
}

remedy healer::decide(const rule& rule, const finding& found) {
  remedy decided;
  rule.targets(graph_, found, decided.targets);
  std::erase_if(decided.targets, [this](graph::agent_index a) { return !graph_.agent(a).in_roster; });
  decided.cause = obstacle(rule, found, decided);
  const mode allowed = mode_for(rule, found);
  if (decided.cause == cause::none && allowed >= mode::shadow) decided.healing = rule.healing;
  if (allowed != mode::enforce) decided.cause = cause::mode;
  if (!decided.healed()) return decided;
  healed_any_ = true;
  count_attempt(rule, found, decided);
  if (able_.inject || rule.healing == action::create) fill_in_text(rule, found, decided);
  return decided;
}

void healer::fill_in_text(const rule& rule, const finding& found, remedy& decided) const {
  const std::string& own_text = settings_.of(rule.id).text;
  decided.text = text::fill(own_text.empty() ? rule.text() : std::string_view(own_text), rule.facts(graph_, found));
}

remedy healer::decide_at_end(const rule& rule, const finding& found) const {
  return {.cause = mode_for(rule, found) == mode::enforce ? cause::ended : cause::mode};
}

}  // namespace digd
