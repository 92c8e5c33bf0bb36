// The counters of the publisher to a fleet's stream, for /metrics. Its thread writes them; any thread reads them.
#pragma once

#include <atomic>
#include <cstdint>

namespace digd::daemon {

struct publisher_counts {
  std::atomic<std::uint64_t> published{0};   // entries in the stream, since the start
  std::atomic<std::uint64_t> failed{0};      // pieces that had to be published again
  std::atomic<std::uint64_t> cut{0};         // entries too large for the stream, published without their texts
  std::atomic<std::uint64_t> bare{0};        // of these, entries published with nothing but their identifiers
  std::atomic<std::uint64_t> reconnects{0};  // connections that were replaced
  std::atomic<std::uint64_t> deletions{0};   // deleted runs that were reported to the stream
  std::atomic<std::uint64_t> lag{0};         // durable entries that the stream does not have yet
};

}  // namespace digd::daemon
