// The wait before the next attempt to deliver a callback. A pure function.
#pragma once

#include <algorithm>
#include <cstdint>

namespace digd::daemon {

// Exponential backoff: `first_ms`, doubled with each further failure, at most `max_ms`. `failures` counts those in a
// row and is at least 1. `jitter`, from 0 to 1, takes off up to half: callbacks that failed together are then not all
// tried again at the same time.
inline std::int64_t backoff_ms(std::int64_t failures, std::int64_t first_ms, std::int64_t max_ms, double jitter) {
  std::int64_t wait = std::min(first_ms, max_ms);
  for (std::int64_t i = 1; i < failures && wait < max_ms; ++i) wait = wait > max_ms / 2 ? max_ms : wait * 2;
  const std::int64_t half = wait / 2;
  return wait - static_cast<std::int64_t>(static_cast<double>(half) * std::clamp(jitter, 0.0, 1.0));
}

}  // namespace digd::daemon
