// The limits of `budget` as a set of total_kind, in bits.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/guard.h"
#include "rules/guards/spending.h"

namespace digd {

// The limits that a total is above.
inline std::uint8_t limits_passed(const guard_settings& s, const spent_totals& totals) {
  unsigned limits = 0;
  for (std::size_t i = 0; i < total_count; ++i) {
    if (s.budget[i] && totals[i] > *s.budget[i]) limits |= 1U << i;
  }
  return static_cast<std::uint8_t>(limits);
}

// The limits whose total has reached the share `warn_at`.
inline std::uint8_t limits_reached(const guard_settings& s, const spent_totals& totals) {
  unsigned limits = 0;
  for (std::size_t i = 0; i < total_count; ++i) {
    if (!s.budget[i]) continue;
    if (static_cast<double>(totals[i]) >= s.warn_at * static_cast<double>(*s.budget[i])) limits |= 1U << i;
  }
  return static_cast<std::uint8_t>(limits);
}

inline std::vector<std::string_view> names_of(std::uint8_t limits) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < total_count; ++i) {
    if ((limits >> i & 1U) != 0) names.push_back(limit_name(static_cast<total_kind>(i)));
  }
  return names;
}

}  // namespace digd
