#include "engine/policy.h"

#include <algorithm>

#include "rules/rule.h"

namespace digd {

namespace {

// Every limit of `hello` beside its settled value and the most that is granted.
template <class Each>
void for_each_limit(const limits_request& asked, limits& settled, const limits& most, Each each) {
  each(asked.stalled_ms, settled.stalled_ms, most.stalled_ms);
  each(asked.settled_events, settled.settled_events, most.settled_events);
  each(asked.generators, settled.generators, most.generators);
  each(asked.judging_work, settled.judging_work, most.judging_work);
  each(asked.message_bytes, settled.message_bytes, most.message_bytes);
  each(asked.reorder_ms, settled.reorder_ms, most.reorder_ms);
  each(asked.agents, settled.agents, most.agents);
  each(asked.recipients, settled.recipients, most.recipients);
  each(asked.inputs, settled.inputs, most.inputs);
  each(asked.live_events, settled.live_events, most.live_events);
  each(asked.open_activations, settled.open_activations, most.open_activations);
  each(asked.sessions, settled.sessions, most.sessions);
}

// Two hellos that name the same kinds or agents in another order do not contradict each other.
std::vector<std::string> as_set(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void apply(const rule_request& asked, const rule& which, rule_settings& s) {
  if (asked.mode) s.mode = *asked.mode;
  if (asked.kinds && which.traits.kinds) s.kinds = as_set(*asked.kinds);
  if (asked.except) s.except = as_set(*asked.except);
  if (asked.window_ms && which.traits.has_window()) s.window_ms = *asked.window_ms;
  if (asked.max_attempts && which.traits.has_attempts()) s.max_attempts = *asked.max_attempts;
  if (asked.max_reroutes && which.traits.reroutes) s.max_reroutes = *asked.max_reroutes;
  if (asked.text) s.text = *asked.text;
}

}  // namespace

run_policy::run_policy() : defaults(default_settings()) {
  // Limits that only cost the run itself time may be raised; those that cost memory are capped at ten times.
  most.stalled_ms = 7LL * 24 * 3600 * 1000;
  most.settled_events = 10'000'000;
  most.message_bytes = 16 << 20;
  most.reorder_ms = 5'000;
  most.agents = 1'000'000;
  most.recipients = 1'000'000;
  most.inputs = 1'000'000;
  most.live_events = 10'000'000;
  most.open_activations = 1'000'000;
  most.sessions = 10'000;
}

run_settings settle(const hello& asked, const run_policy& policy) {
  run_settings s = policy.defaults;
  if (asked.mode) s.mode = *asked.mode;
  s.mode = std::min(s.mode, policy.strongest_mode);
  if (asked.clock) s.clock = *asked.clock;
  s.stamped = asked.stamped && s.clock == clock_kind::trace;
  for (const rule* r : catalog()) apply(asked.rules[index_of(r->id)], *r, s.of(r->id));
  if (asked.budget) s.budget = *asked.budget;
  if (asked.max_returns_per_agent) s.max_returns_per_agent = *asked.max_returns_per_agent;
  for_each_limit(asked.limits, s.limits, policy.most, [](const auto& wanted, auto& settled, const auto& most) {
    if (wanted) settled = *wanted;
    settled = std::min(settled, most);
  });
  for (std::size_t i = 0; i < limit_policies::count; ++i) {
    if (asked.over_limit[i]) s.over_limit.of(static_cast<limit_id>(i)) = *asked.over_limit[i];
  }
  return s;
}

mode effective_mode(const run_settings& settings, std::optional<limit_id> unjudged) {
  return unjudged ? mode::off : std::min(settings.mode, settings.operator_mode);
}

std::string contradiction(const hello& asked, const run_settings& holds, const run_policy& policy) {
  if (asked.clock && *asked.clock != holds.clock) return "clock";
  // A client may also ask for what a welcome told it, which can be weaker for a while.
  const bool as_told = asked.mode && *asked.mode == std::min(holds.mode, holds.operator_mode);
  if (asked.mode && !as_told &&
      std::min(*asked.mode, policy.strongest_mode) != std::min(holds.mode, policy.strongest_mode)) {
    return "mode";
  }
  for (const rule* r : catalog()) {
    rule_settings wanted = holds.of(r->id);
    apply(asked.rules[index_of(r->id)], *r, wanted);
    if (wanted != holds.of(r->id)) return "rules";
  }
  return {};
}

}  // namespace digd
