// The rules and guards by name, from their catalogs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace digd {

enum class rule_id : std::uint8_t {
#define DIGD_RULE(name) name,
#include "model/rule_catalog.inc"
#include "model/rule_catalog_guards.inc"
#undef DIGD_RULE
};

inline constexpr std::array rule_names{
#define DIGD_RULE(name) std::string_view{#name},
#include "model/rule_catalog.inc"
#include "model/rule_catalog_guards.inc"
#undef DIGD_RULE
};
inline constexpr std::size_t rule_count = rule_names.size();  // with the guards

// The rules that find failures; the guards follow them.
inline constexpr std::array failure_rule_names{
#define DIGD_RULE(name) std::string_view{#name},
#include "model/rule_catalog.inc"
#undef DIGD_RULE
};
inline constexpr std::size_t failure_rule_count = failure_rule_names.size();
inline constexpr std::size_t guard_count = rule_count - failure_rule_count;

// The rules whose window belongs to the run, and those whose windows belong to events, in the order of the catalog. The
// traits of the rules decide (rules/rule.h). These lists are for code that links no rules; a test compares them.
inline constexpr std::array run_window_rules{rule_id::deadlock, rule_id::missing_termination};
inline constexpr std::array event_window_rules{rule_id::orphaned_event};

constexpr std::size_t index_of(rule_id id) { return static_cast<std::size_t>(id); }
constexpr std::string_view to_string(rule_id id) { return rule_names[index_of(id)]; }
constexpr bool is_guard(rule_id id) { return index_of(id) >= failure_rule_count; }
std::optional<rule_id> rule_from(std::string_view name);

}  // namespace digd
