#include <array>

#include "rules/rule.h"

namespace digd {

std::span<const rule* const> catalog() {
  static const std::array rules{
#define DIGD_RULE(name) &name##_rule(),
#include "model/rule_catalog.inc"
#include "model/rule_catalog_guards.inc"
#undef DIGD_RULE
  };
  return rules;
}

const rule* guard_reading(guard_count_kind kind, const guard_settings& settings) {
  for (const rule* guard : guards()) {
    if (guard->traits.counts == kind) return settings.is_on(guard->id) ? guard : nullptr;
  }
  return nullptr;
}

run_settings default_settings() {
  run_settings settings;
  for (const rule* r : catalog()) settings.of(r->id) = r->defaults();
  return settings;
}

}  // namespace digd
