#include "model/guard.h"

#include <algorithm>
#include <cmath>

namespace digd {

namespace {

constexpr std::array<std::string_view, 5> guard_action_names{"inject", "return", "hold", "cancel", "observe"};
constexpr std::array<std::string_view, 2> hold_end_names{"release", "return"};
constexpr std::array<std::string_view, 2> scope_names{"run", "agent"};

template <class Enum, std::size_t size>
std::optional<Enum> guard_word(std::string_view name, const std::array<std::string_view, size>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view to_string(guard_action a) { return guard_action_names[static_cast<std::size_t>(a)]; }
std::string_view to_string(hold_end e) { return hold_end_names[static_cast<std::size_t>(e)]; }
std::string_view to_string(budget_scope s) { return scope_names[static_cast<std::size_t>(s)]; }
std::optional<guard_action> guard_action_from(std::string_view name) {
  return guard_word<guard_action>(name, guard_action_names);
}
std::optional<hold_end> hold_end_from(std::string_view name) { return guard_word<hold_end>(name, hold_end_names); }
std::optional<budget_scope> budget_scope_from(std::string_view name) {
  return guard_word<budget_scope>(name, scope_names);
}

std::uint64_t millionths(double cost) { return static_cast<std::uint64_t>(std::floor(1e6 * cost + 0.5)); }

std::string decimal_of_millionths(std::uint64_t cost) {
  std::string text = std::to_string(cost / 1'000'000);
  std::string fraction = std::to_string(1'000'000 + cost % 1'000'000).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (!fraction.empty()) text.append(".").append(fraction);
  return text;
}

guard_action guard_settings::action_of(rule_id guard, std::uint64_t firing) const {
  const std::vector<guard_action>& list = actions_of(guard);
  return list[std::min<std::uint64_t>(firing, list.size() - 1)];
}

}  // namespace digd
