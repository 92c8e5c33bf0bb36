// How long to wait before a callback is tried again. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

namespace digd::daemon {

// After `failures` failures in a row, at least one: `first_ms`, doubled with each, at most `most_ms`; of that something
// between half and all, as `chance` from 0 to 1 says, so that many that failed together do not come back together.
inline std::int64_t backoff_ms(std::int64_t failures, std::int64_t first_ms, std::int64_t most_ms, double chance) {
  std::int64_t whole = std::min(first_ms, most_ms);
  for (std::int64_t i = 1; i < failures && whole < most_ms; ++i) whole = whole > most_ms / 2 ? most_ms : whole * 2;
  return whole - static_cast<std::int64_t>(static_cast<double>(whole / 2) * std::clamp(chance, 0.0, 1.0));
}

}  // namespace digd::daemon
