#include "engine/policy.h"

#include <algorithm>
#include <variant>

#include "rules/guard_option.h"
#include "rules/rule.h"

namespace digd {

namespace {

constexpr milliseconds max_hold_ms = 7LL * 24 * 3600 * 1000;

// Calls `each` for every limit with three values: the one the hello asks for, the one in effect, and the cap.
template <class Each>
void for_each_limit(const limits_request& asked, limits& settled, const limits& caps, Each each) {
  each(asked.stalled_ms, settled.stalled_ms, caps.stalled_ms);
  each(asked.settled_events, settled.settled_events, caps.settled_events);
  each(asked.generators, settled.generators, caps.generators);
  each(asked.judging_work, settled.judging_work, caps.judging_work);
  each(asked.message_bytes, settled.message_bytes, caps.message_bytes);
  each(asked.reorder_ms, settled.reorder_ms, caps.reorder_ms);
  each(asked.agents, settled.agents, caps.agents);
  each(asked.recipients, settled.recipients, caps.recipients);
  each(asked.inputs, settled.inputs, caps.inputs);
  each(asked.live_events, settled.live_events, caps.live_events);
  each(asked.open_activations, settled.open_activations, caps.open_activations);
  each(asked.sessions, settled.sessions, caps.sessions);
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
  if (asked.skip_repeated && which.traits.repeated) s.skip_repeated = *asked.skip_repeated;
  if (asked.text) s.text = *asked.text;
}

template <class Number>
void lower(const std::optional<Number>& asked, const std::optional<Number>& max_value, std::optional<Number>& settled) {
  if (asked) settled = max_value ? std::min(*asked, *max_value) : *asked;
}

template <class Value>
void take(const std::optional<Value>& asked, Value& settled) {
  if (asked) settled = *asked;
}

void apply_options(const rule& guard, const guards_request& asked, const guard_settings& configured,
                   guard_settings& s) {
  const bool is_configured = guard.is_on(configured);
  for (const guard_option& option : guard.options()) {
    const auto apply_kind = [&]<class Kind>(const Kind& kind) {
      if constexpr (Kind::is_limit) {
        lower(kind.of(asked), kind.of(configured), kind.of(s));
      } else if (!is_configured) {
        take(kind.of(asked), kind.of(s));
      }
    };
    std::visit(apply_kind, option.kind);
  }
}

// Where the configuration sets a guard, a hello can only lower its limits.
void apply(const hello& asked, const run_policy& policy, run_settings& s) {
  const guards_request& wanted = asked.guards;
  const guard_settings& configured = policy.defaults.guards;
  const bool any_on = is_any_guard_on(configured);
  for (const rule* guard : guards()) {
    apply_options(*guard, wanted, configured, s.guards);
    if (guard->is_on(configured)) continue;
    apply(asked.rules[index_of(guard->id)], *guard, s.of(guard->id));
    take(wanted.actions[guard_index(guard->id)], s.guards.actions[guard_index(guard->id)]);
  }
  if (wanted.hold_ms) s.guards.hold_ms = std::min(*wanted.hold_ms, any_on ? configured.hold_ms : max_hold_ms);
  if (!any_on) take(wanted.on_timeout, s.guards.on_timeout);
}

}  // namespace

run_policy::run_policy() : defaults(default_settings()) {
  // Caps on times are far above the defaults, because a long time affects only the client's own run. Caps on memory are
  // ten times the defaults or more.
  caps.stalled_ms = 7LL * 24 * 3600 * 1000;
  caps.settled_events = 10'000'000;
  caps.message_bytes = 16 << 20;
  caps.reorder_ms = 5'000;
  caps.agents = 1'000'000;
  caps.recipients = 1'000'000;
  caps.inputs = 1'000'000;
  caps.live_events = 10'000'000;
  caps.open_activations = 1'000'000;
  caps.sessions = 10'000;
}

run_settings effective_settings(const hello& asked, const run_policy& policy) {
  run_settings s = policy.defaults;
  if (asked.mode) s.mode = *asked.mode;
  s.mode = std::min(s.mode, policy.strongest_mode);
  if (asked.clock) s.clock = *asked.clock;
  s.stamped = asked.stamped && s.clock == clock_kind::trace;
  for (const rule* r : failure_rules()) apply(asked.rules[index_of(r->id)], *r, s.of(r->id));
  apply(asked, policy, s);
  if (asked.budget) s.budget = *asked.budget;
  if (asked.max_returns_per_agent) s.max_returns_per_agent = *asked.max_returns_per_agent;
  for_each_limit(asked.limits, s.limits, policy.caps, [](const auto& wanted, auto& settled, const auto& cap) {
    if (wanted) settled = *wanted;
    settled = std::min(settled, cap);
  });
  for (std::size_t i = 0; i < limit_policies::count; ++i) {
    if (asked.over_limit[i]) s.over_limit.of(static_cast<limit_id>(i)) = *asked.over_limit[i];
  }
  return s;
}

mode effective_mode(const run_settings& settings, std::optional<limit_id> unjudged) {
  return unjudged ? mode::off : std::min(settings.mode, settings.operator_mode);
}

std::string contradiction(const hello& asked, const run_settings& settings, const run_policy& policy) {
  if (asked.clock && *asked.clock != settings.clock) return "clock";
  // A client may ask for the mode that a welcome named, which the operator's switch can weaken.
  const bool as_welcomed = asked.mode && *asked.mode == std::min(settings.mode, settings.operator_mode);
  if (asked.mode && !as_welcomed &&
      std::min(*asked.mode, policy.strongest_mode) != std::min(settings.mode, policy.strongest_mode)) {
    return "mode";
  }
  for (const rule* r : failure_rules()) {
    rule_settings wanted = settings.of(r->id);
    apply(asked.rules[index_of(r->id)], *r, wanted);
    if (wanted != settings.of(r->id)) return "rules";
  }
  run_settings wanted = settings;
  apply(asked, policy, wanted);
  if (wanted != settings) return "guards";
  return {};
}

}  // namespace digd
