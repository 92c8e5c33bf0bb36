// The counters of one webhook, for /metrics and /v1/webhooks. The webhooks' thread writes them; any thread reads them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace digd::daemon {

struct webhook_counts {
  explicit webhook_counts(std::string n) : name(std::move(n)) {}
  const std::string name;
  // since the start
  std::atomic<std::uint64_t> posted{0}, failed{0}, retried{0}, died{0}, dead_dropped{0}, joined{0}, rate_waits{0};
  // now
  std::atomic<std::uint64_t> waiting{0}, under_way{0}, unread{0}, dead{0};
};

}  // namespace digd::daemon
