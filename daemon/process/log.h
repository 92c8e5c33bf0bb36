// The log: one line a fact on standard error, as text or JSON. `name=value` words; names that agents chose are
// quoted (engine/quote.h), payloads never appear. Any thread.
#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>

#include "daemon/settings/config.h"

namespace digd::daemon {

void open_log(const log_settings& settings);
void set_log_level(const log_settings& settings);

// Lets through so many a second and counts the rest, so that bad input cannot fill a disk. One thread.
class rate_limit {
 public:
  explicit rate_limit(std::uint64_t a_second) : a_second_(a_second) {}
  // Whether to speak now; `kept_back` is then how often it was not since.
  bool may_speak(std::uint64_t& kept_back);

 private:
  const std::uint64_t a_second_;
  std::uint64_t spoken_ = 0, kept_back_ = 0;
  std::chrono::steady_clock::time_point second_{};
};

}  // namespace digd::daemon
