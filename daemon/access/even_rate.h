// Limits units, such as messages or bytes, to an even rate, with a burst of one second's worth. It is the generic cell
// rate algorithm (ITU-T I.371). Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace digd::daemon {

class even_rate {
 public:
  explicit even_rate(std::uint64_t a_second) : a_second_(a_second) {}
  // Counts `units`, at most 2^33. Returns how long to wait before the next ones.
  std::chrono::nanoseconds take(std::chrono::steady_clock::time_point now, std::uint64_t units = 1);
  // Whether units came faster than the even rate, and not enough time has passed since.
  bool is_exceeded(std::chrono::steady_clock::time_point now) const {
    return due_.load(std::memory_order_relaxed) > now.time_since_epoch() / std::chrono::nanoseconds(1);
  }

 private:
  static constexpr std::uint64_t second_ns = 1'000'000'000;
  const std::uint64_t a_second_;      // 0: no limit
  std::atomic<std::int64_t> due_{0};  // when the units so far would have arrived at the even rate
};

}  // namespace digd::daemon
