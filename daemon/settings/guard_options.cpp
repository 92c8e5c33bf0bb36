#include "daemon/settings/guard_options.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "daemon/settings/option_kinds.h"
#include "rules/guard_option.h"
#include "rules/rule.h"

namespace digd::daemon {

namespace {

constexpr applies when = applies::to_new_runs;
constexpr std::int64_t no_limit = -1;
constexpr std::int64_t max_total = 1'000'000'000'000'000;
constexpr std::int64_t max_count = 1'000'000'000;
constexpr std::int64_t max_ms = 7LL * 24 * 3600 * 1000;
constexpr double max_cost = 1e12;

// A limit that is off while it is -1.
template <class Kind>
option limit(std::string name, std::int64_t max_value, Kind kind, const std::string& meaning) {
  option o = kinds::blank(std::move(name), value_kind::whole_number, when, meaning + " -1: no limit.");
  o.min_value = no_limit;
  o.max_value = max_value;
  o.set = [=](const toml::node& v, config& c) {
    std::int64_t given = 0;
    std::string wrong = kinds::take_number(v, no_limit, max_value, given);
    if (!wrong.empty()) return wrong;
    auto& out = kind.of(c.policy.defaults.guards);
    out.reset();
    if (given != no_limit) out = given;
    return wrong;
  };
  o.get = [=](const config& c) {
    const auto& value = kind.of(c.policy.defaults.guards);
    return value ? std::to_string(*value) : std::to_string(no_limit);
  };
  return o;
}

// An option that a guard declares (rules/guard_option.h), as an option of the configuration.

option make_option(std::string name, total_limit kind, const std::string& meaning) {
  return limit(std::move(name), max_total, kind, meaning);
}

option make_option(std::string name, count_limit kind, const std::string& meaning) {
  return limit(std::move(name), max_count, kind, meaning);
}

option make_option(std::string name, time_limit kind, const std::string& meaning) {
  return limit(std::move(name), max_ms, kind, meaning);
}

option make_option(std::string name, cost_limit kind, const std::string& meaning) {
  option o = kinds::blank(std::move(name), value_kind::amount, when, meaning + " -1: no limit.");
  o.min_value = no_limit;
  o.max_value = static_cast<std::int64_t>(max_cost);
  o.set = [kind](const toml::node& v, config& c) -> std::string {
    const bool is_number = v.is_floating_point() || v.is_integer();
    const auto given = is_number ? v.value<double>() : std::nullopt;
    if (!given || !(*given == no_limit || (*given >= 0 && *given <= max_cost)))
      return "must be a number from 0 to 1000000000000, or -1 for no limit";
    auto& out = kind.of(c.policy.defaults.guards);
    out.reset();
    if (*given >= 0) out = millionths(*given);
    return {};
  };
  o.get = [kind](const config& c) {
    const auto& value = kind.of(c.policy.defaults.guards);
    return value ? decimal_of_millionths(*value) : std::to_string(no_limit);
  };
  return o;
}

option make_option(std::string name, count_option kind, std::string meaning) {
  return kinds::whole_number(
      std::move(name), 1, static_cast<std::int64_t>(kind.max_count), when,
      [kind](auto& c) -> auto& { return kind.of(c.policy.defaults.guards); }, std::move(meaning));
}

option make_option(std::string name, share_option kind, std::string meaning) {
  return kinds::share(
      std::move(name), when, [kind](auto& c) -> auto& { return kind.of(c.policy.defaults.guards); },
      std::move(meaning));
}

option make_option(std::string name, scope_option kind, std::string meaning) {
  return kinds::named(
      std::move(name), {"run", "agent"}, when, budget_scope_from,
      [kind](auto& c) -> auto& { return kind.of(c.policy.defaults.guards); }, std::move(meaning));
}

option actions(const rule& which) {
  const bool of_activations = which.traits.judges_activations;
  option o =
      kinds::blank("guards." + std::string(to_string(which.id)) + ".action", value_kind::list, when,
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
  o.get = [id = which.id](const config& c) {
    std::vector<std::string> names;
    for (const guard_action a : c.policy.defaults.guards.actions_of(id)) names.emplace_back(to_string(a));
    return kinds::list_literal(names);
  };
  return o;
}

void add_options(std::vector<option>& table, const rule& guard) {
  const std::string at = "guards." + std::string(to_string(guard.id)) + '.';
  table.push_back(kinds::named(
      at + "mode", {"off", "observe", "shadow", "enforce"}, when, mode_from,
      [id = guard.id](auto& c) -> auto& { return c.policy.defaults.of(id).mode; },
      "The effective mode is the weakest of this one, the run's mode and the operator's switch."));
  table.push_back(kinds::list(
      at + "except", when, [id = guard.id](auto& c) -> auto& { return c.policy.defaults.of(id).except; },
      "Agents for which the guard only reports."));
  table.push_back(actions(guard));
  for (const guard_option& o : guard.options()) {
    const auto add = [&](const auto& kind) {
      table.push_back(make_option(at + std::string(o.name), kind, std::string(o.meaning)));
    };
    std::visit(add, o.kind);
  }
}

}  // namespace

void add_guard_options(std::vector<option>& table) {
  table.push_back(kinds::whole_number(
      "guards.hold_ms", 0, max_ms, when, [](auto& c) -> auto& { return c.policy.defaults.guards.hold_ms; },
      "How long an event waits for a person's decision. Milliseconds."));
  table.push_back(kinds::named(
      "guards.on_timeout", {"release", "return"}, when, hold_end_from,
      [](auto& c) -> auto& { return c.policy.defaults.guards.on_timeout; }, "What happens to it if nobody decides."));
  for (const rule* guard : guards()) add_options(table, *guard);
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
