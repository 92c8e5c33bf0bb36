#include "daemon/access/even_rate.h"

#include <algorithm>

namespace digd::daemon {

std::chrono::nanoseconds even_rate::take(std::chrono::steady_clock::time_point now, std::uint64_t units) {
  if (a_second_ == 0) return {};
  const std::int64_t arrived = now.time_since_epoch() / std::chrono::nanoseconds(1);
  const auto cost = static_cast<std::int64_t>(units * second_ns / a_second_);
  std::int64_t before = due_.load(std::memory_order_relaxed), after = 0;
  do {
    after = std::max(before, arrived) + cost;
  } while (!due_.compare_exchange_weak(before, after, std::memory_order_relaxed));
  return std::chrono::nanoseconds(std::max<std::int64_t>(0, after - arrived - std::int64_t{second_ns}));
}

}  // namespace digd::daemon
