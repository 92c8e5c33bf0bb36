// Limits how many log lines of one kind are written each second, so that bad input cannot fill a disk. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

namespace digd {

class log_rate_limit {
 public:
  explicit log_rate_limit(std::uint64_t max_per_second) : max_per_second_(max_per_second) {}

  // Whether to log a line now. If so, `suppressed` is the number of lines suppressed since the last logged one.
  bool allows(std::uint64_t& suppressed) {
    const auto now = std::chrono::steady_clock::now();
    if (now - second_began_ >= std::chrono::seconds(1)) {
      second_began_ = now;
      logged_ = 0;
    }
    if (logged_ == max_per_second_) {
      ++suppressed_;
      return false;
    }
    ++logged_;
    suppressed = std::exchange(suppressed_, 0);
    return true;
  }

 private:
  const std::uint64_t max_per_second_;
  std::uint64_t logged_ = 0, suppressed_ = 0;
  std::chrono::steady_clock::time_point second_began_{};
};

}  // namespace digd
