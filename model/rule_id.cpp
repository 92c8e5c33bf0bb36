#include "model/rule_id.h"

namespace digd {

std::optional<rule_id> rule_from(std::string_view name) {
  for (std::size_t i = 0; i < rule_count; ++i) {
    if (rule_names[i] == name) return static_cast<rule_id>(i);
  }
  return std::nullopt;
}

}  // namespace digd
