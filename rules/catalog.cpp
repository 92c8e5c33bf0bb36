#include <array>

#include "rules/rule.h"

namespace digd {

std::span<const rule* const> catalog() {
  static const std::array all{
#define DIGD_RULE(name) &name##_rule(),
#include "rules/catalog.inc"
#undef DIGD_RULE
  };
  return all;
}

std::optional<rule_id> rule_from(std::string_view name) {
  for (std::size_t i = 0; i < rule_count; ++i) {
    if (rule_names[i] == name) return static_cast<rule_id>(i);
  }
  return std::nullopt;
}

}  // namespace digd
