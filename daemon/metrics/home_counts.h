// Counters of a fleet's homes. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace digd::daemon {

struct home_counts {
  using count = std::atomic<std::uint64_t>;
  count opened{0}, kept{0}, taken{0}, elsewhere{0}, unavailable{0};  // answers
  count restored_entries{0}, failed_restores{0};
  count leases_lost{0}, renewals_failed{0};
  count reconnects{0};                    // connections that were replaced
  count moved_away{0};                    // runs that another daemon took over
  count refused{0};                       // questions beyond the limit
  std::atomic<std::uint64_t> waiting{0};  // questions without an answer
};

}  // namespace digd::daemon
