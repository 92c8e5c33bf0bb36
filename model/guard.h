// The words of the guards: what they limit, what they do, and what a client reports as usage (docs/guards.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/message.h"
#include "model/rule_id.h"

namespace digd {

// What a guard does with an event. `give_back` is `return` on the wire.
enum class guard_action : std::uint8_t { inject, give_back, hold, cancel, observe };

// How a hold ends. `give_back` is `return` on the wire.
enum class hold_end : std::uint8_t { release, give_back };

// The totals that `budget` limits, in the order in which a detection lists them.
enum class total_kind : std::uint8_t { tokens, cost, model_calls, tool_calls, activations, ms };
inline constexpr std::size_t total_count = 6;
inline constexpr std::array<std::string_view, total_count> total_limit_names{
    "max_tokens", "max_cost", "max_model_calls", "max_tool_calls", "max_activations", "max_ms"};
constexpr std::string_view limit_name(total_kind kind) { return total_limit_names[static_cast<std::size_t>(kind)]; }

enum class budget_scope : std::uint8_t { run, agent };

std::string_view to_string(guard_action);
std::string_view to_string(hold_end);
std::string_view to_string(budget_scope);
std::optional<guard_action> guard_action_from(std::string_view);
std::optional<hold_end> hold_end_from(std::string_view);
std::optional<budget_scope> budget_scope_from(std::string_view);

inline constexpr double max_usage = 1e9;  // of one increment
inline constexpr std::uint64_t max_repetition_window = 1000;
inline constexpr std::size_t max_guard_actions = 64;  // in one list

// Costs are counted in millionths of the user's currency.
std::uint64_t millionths(double cost);
std::string decimal_of_millionths(std::uint64_t cost);

constexpr std::size_t guard_index(rule_id id) { return index_of(id) - failure_rule_count; }

// What the guards of a run limit. A guard is off until one of its limits is set (`rule::is_on`).
struct guard_settings {
  std::array<std::optional<std::uint64_t>, total_count> budget;  // by total_kind; the cost in millionths
  budget_scope per = budget_scope::run;
  double warn_at = 0.8;
  std::optional<std::uint64_t> max_depth;
  std::optional<std::uint64_t> max_outputs;
  std::optional<std::uint64_t> max_live;
  std::optional<std::uint64_t> max_repeats;
  std::uint64_t window = 50;
  std::optional<milliseconds> after_ms;
  // By guard_index; never empty.
  std::array<std::vector<guard_action>, guard_count> actions{{{guard_action::give_back},
                                                              {guard_action::give_back},
                                                              {guard_action::inject, guard_action::give_back},
                                                              {guard_action::observe}}};
  milliseconds hold_ms = 300'000;
  hold_end on_timeout = hold_end::release;

  // The action of the n-th firing, counted from 0; the last one stays.
  guard_action action_of(rule_id guard, std::uint64_t firing) const;
  const std::vector<guard_action>& actions_of(rule_id guard) const { return actions[guard_index(guard)]; }
  bool operator==(const guard_settings&) const = default;
};

// The guards that a `hello` or the configuration contains; the names are those of `guard_settings`.
struct guards_request {
  std::array<std::optional<std::uint64_t>, total_count> budget;
  std::optional<budget_scope> per;
  std::optional<double> warn_at;
  std::optional<std::uint64_t> max_depth;
  std::optional<std::uint64_t> max_outputs;
  std::optional<std::uint64_t> max_live;
  std::optional<std::uint64_t> max_repeats;
  std::optional<std::uint64_t> window;
  std::optional<milliseconds> after_ms;
  std::array<std::optional<std::vector<guard_action>>, guard_count> actions;
  std::optional<milliseconds> hold_ms;
  std::optional<hold_end> on_timeout;
};

}  // namespace digd
