#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "rules/rule.h"

namespace digd {

namespace {

// The trait that both rules have, although only one rule of a catalog may have it; empty: none. The graph keeps one
// window and one number of attempts for an event, and the run keeps one count of each kind.
std::string_view shared_trait(const rule_traits& a, const rule_traits& b) {
  if (a.window == scope::event && b.window == scope::event) return "windows of events";
  if (a.attempts == scope::event && b.attempts == scope::event) return "attempts for each event";
  if (a.counts != guard_count_kind::none && a.counts == b.counts) return "the same count of a guard";
  return {};
}

template <std::size_t size>
std::array<const rule*, size> checked(const std::array<const rule*, size>& rules) {
  if (std::string problem = catalog_problem(rules); !problem.empty()) throw std::logic_error(problem);
  return rules;
}

}  // namespace

std::string catalog_problem(std::span<const rule* const> rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string name(to_string(rules[i]->id));
    if (rules[i]->traits.window == scope::run && rules[i]->traits.attempts == scope::event)
      return "the rule " + name + " has attempts for each event, and its windows belong to none";
    for (const rule* other : rules.first(i)) {
      const std::string_view shared = shared_trait(other->traits, rules[i]->traits);
      if (!shared.empty())
        return "the rules " + std::string(to_string(other->id)) + " and " + name + " have " + std::string(shared);
    }
  }
  return {};
}

std::span<const rule* const> catalog() {
  static const std::array rules = checked(std::array{
#define DIGD_RULE(name) &name##_rule(),
#include "model/rule_catalog.inc"
#include "model/rule_catalog_guards.inc"
#undef DIGD_RULE
  });
  return rules;
}

bool is_any_guard_on(const guard_settings& settings) {
  return std::any_of(guards().begin(), guards().end(), [&](const rule* guard) { return guard->is_on(settings); });
}

const rule* guard_reading(guard_count_kind kind, const guard_settings& settings) {
  for (const rule* guard : guards()) {
    if (guard->traits.counts == kind) return guard->is_on(settings) ? guard : nullptr;
  }
  return nullptr;
}

run_settings default_settings() {
  run_settings settings;
  for (const rule* r : catalog()) settings.of(r->id) = r->defaults();
  return settings;
}

}  // namespace digd
