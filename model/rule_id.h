// The rules by name, from the catalog.
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
#undef DIGD_RULE
};

inline constexpr std::array rule_names{
#define DIGD_RULE(name) std::string_view{#name},
#include "model/rule_catalog.inc"
#undef DIGD_RULE
};
inline constexpr std::size_t rule_count = rule_names.size();

constexpr std::size_t index_of(rule_id id) { return static_cast<std::size_t>(id); }
constexpr std::string_view to_string(rule_id id) { return rule_names[index_of(id)]; }
std::optional<rule_id> rule_from(std::string_view name);

}  // namespace digd
