#include "daemon/settings/guard_options.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/settings/option_kinds.h"
#include "rules/rule.h"

namespace digd::daemon {

namespace {

constexpr applies when = applies::to_new_runs;
constexpr std::int64_t no_limit = -1;
constexpr std::int64_t max_total = 1'000'000'000'000'000;
constexpr double max_cost_limit = 1e12;

// A limit that is off while it is -1.
template <class Field>
option limit(std::string name, std::int64_t max_value, Field field, const std::string& meaning) {
  option o = kinds::blank(std::move(name), value_kind::whole_number, when, meaning + " -1: no limit.");
  o.min_value = no_limit;
  o.max_value = max_value;
  o.set = [=](const toml::node& v, config& c) {
    std::int64_t given = 0;
    std::string wrong = kinds::take_number(v, no_limit, max_value, given);
    if (!wrong.empty()) return wrong;
    auto& out = field(c.policy.defaults.guards);
    out.reset();
    if (given != no_limit) out = given;
    return wrong;
  };
  o.get = [=](const config& c) {
    const auto& value = field(c.policy.defaults.guards);
    return value ? std::to_string(*value) : std::to_string(no_limit);
  };
  return o;
}

option cost_limit() {
  option o = kinds::blank("guards.budget.max_cost", value_kind::amount, when,
                          "The most that a run, or an agent, may cost, in your own currency. -1: no limit.");
  o.min_value = no_limit;
  o.max_value = static_cast<std::int64_t>(max_cost_limit);
  constexpr auto at = static_cast<std::size_t>(total_kind::cost);
  o.set = [](const toml::node& v, config& c) -> std::string {
    const bool is_number = v.is_floating_point() || v.is_integer();
    const auto given = is_number ? v.value<double>() : std::nullopt;
    if (!given || !(*given == no_limit || (*given >= 0 && *given <= max_cost_limit)))
      return "must be a number from 0 to 1000000000000, or -1 for no limit";
    auto& out = c.policy.defaults.guards.budget[at];
    out.reset();
    if (*given >= 0) out = millionths(*given);
    return {};
  };
  o.get = [](const config& c) {
    const auto& value = c.policy.defaults.guards.budget[at];
    return value ? decimal_of_millionths(*value) : std::to_string(no_limit);
  };
  return o;
}

option actions(rule_id guard) {
  const rule& which = rule_of(guard);
  const bool of_activations = which.traits.judges_activations;
  option o =
      kinds::blank("guards." + std::string(to_string(guard)) + ".action", value_kind::list, when,
                   std::string(of_activations ? "observe or cancel, step by step for each silence."
                                              : "inject, return, hold, cancel or observe. The first firing for a "
                                                "sender takes the first action, the second the second; the last one "
                                                "stays."));
  o.set = [&which, of_activations](const toml::node& v, config& c) -> std::string {
    std::vector<std::string> given;
    std::string word;
    if (kinds::take_words(v, word).empty()) {
      given.push_back(word);
    } else if (std::string wrong = kinds::take_list(v, given); !wrong.empty()) {
      return wrong;
    }
    std::vector<guard_action> taken;
    for (const std::string& name : given) {
      const auto known = guard_action_from(name);
      if (!known || !which.allows(*known))
        return of_activations ? "must name observe or cancel" : "must name inject, return, hold, cancel or observe";
      taken.push_back(*known);
    }
    if (taken.empty() || taken.size() > max_guard_actions) return "must name 1 to 64 actions";
    c.policy.defaults.guards.actions[guard_index(which.id)] = std::move(taken);
    return {};
  };
  o.get = [guard](const config& c) {
    std::vector<std::string> names;
    for (const guard_action a : c.policy.defaults.guards.actions_of(guard)) names.emplace_back(to_string(a));
    return kinds::list_literal(names);
  };
  return o;
}

void add_common(std::vector<option>& table, rule_id guard) {
  const std::string at = "guards." + std::string(to_string(guard)) + '.';
  table.push_back(kinds::named(
      at + "mode", {"off", "observe", "shadow", "enforce"}, when, mode_from,
      [guard](auto& c) -> auto& { return c.policy.defaults.of(guard).mode; },
      "The effective mode is the weakest of this one, the run's mode and the operator's switch."));
  table.push_back(kinds::list(
      at + "except", when, [guard](auto& c) -> auto& { return c.policy.defaults.of(guard).except; },
      "Agents for which the guard only reports."));
  table.push_back(actions(guard));
}

void add_budget(std::vector<option>& table) {
  const auto total = [&](total_kind kind, const char* meaning) {
    const auto i = static_cast<std::size_t>(kind);
    table.push_back(limit(
        "guards.budget." + std::string(limit_name(kind)), max_total, [i](auto& g) -> auto& { return g.budget[i]; },
        meaning));
  };
  total(total_kind::tokens, "Input and output tokens.");
  table.push_back(cost_limit());
  total(total_kind::model_calls, "Model calls.");
  total(total_kind::tool_calls, "Tool calls.");
  total(total_kind::activations, "Activations started.");
  total(total_kind::ms, "Time since the run's first message, or the agent's first activation. Milliseconds.");
  table.push_back(kinds::named(
      "guards.budget.per", {"run", "agent"}, when, budget_scope_from,
      [](auto& c) -> auto& { return c.policy.defaults.guards.per; }, "Whose totals are limited."));
  table.push_back(kinds::share(
      "guards.budget.warn_at", when, [](auto& c) -> auto& { return c.policy.defaults.guards.warn_at; },
      "The share of a limit at which each sender is warned once."));
}

void add_others(std::vector<option>& table) {
  constexpr std::int64_t max_value = 1'000'000'000;
  table.push_back(limit(
      "guards.fan_out.max_depth", max_value, [](auto& g) -> auto& { return g.max_depth; },
      "Generations that an event may descend from."));
  table.push_back(limit(
      "guards.fan_out.max_outputs", max_value, [](auto& g) -> auto& { return g.max_outputs; },
      "Outputs that are work, of one activation."));
  table.push_back(limit(
      "guards.fan_out.max_live", max_value, [](auto& g) -> auto& { return g.max_live; },
      "Pieces of work in flight in a run."));
  add_common(table, rule_id::repetition);
  table.push_back(limit(
      "guards.repetition.max_repeats", max_value, [](auto& g) -> auto& { return g.max_repeats; },
      "How often an agent may send the same content to the same recipients among its last outputs."));
  table.push_back(kinds::whole_number(
      "guards.repetition.window", 1, static_cast<std::int64_t>(max_repetition_window), when,
      [](auto& c) -> auto& { return c.policy.defaults.guards.window; }, "How many of its last outputs count."));
  add_common(table, rule_id::stall);
  table.push_back(limit(
      "guards.stall.after_ms", 7LL * 24 * 3600 * 1000, [](auto& g) -> auto& { return g.after_ms; },
      "How long an open activation may send no output and report no usage. Milliseconds."));
}

}  // namespace

void add_guard_options(std::vector<option>& table) {
  table.push_back(kinds::whole_number(
      "guards.hold_ms", 0, 7LL * 24 * 3600 * 1000, when,
      [](auto& c) -> auto& { return c.policy.defaults.guards.hold_ms; },
      "How long an event waits for a person's decision. Milliseconds."));
  table.push_back(kinds::named(
      "guards.on_timeout", {"release", "return"}, when, hold_end_from,
      [](auto& c) -> auto& { return c.policy.defaults.guards.on_timeout; }, "What happens to it if nobody decides."));
  add_common(table, rule_id::budget);
  add_budget(table);
  add_common(table, rule_id::fan_out);
  add_others(table);
}

std::string_view guard_section_meaning(std::string_view section) {
  if (section == "guards") {
    return "Guards limit what a run spends, how far it fans out, how often it repeats itself and how long an agent "
           "stays silent: docs/guards.md. A guard is off until one of its limits is set. A hello can only lower "
           "limits that are set here.";
  }
  constexpr std::string_view guards_prefix = "guards.";
  if (!section.starts_with(guards_prefix)) return {};
  for (const rule* guard : guards()) {
    if (to_string(guard->id) == section.substr(guards_prefix.size())) return guard->doc.summary;
  }
  return {};
}

}  // namespace digd::daemon
