// The counters of POST /v1/traces, for /metrics. The spans' thread and the connections' write them; any thread reads
// them.
#pragma once

#include <atomic>
#include <cstdint>

namespace digd::daemon {

struct otlp_counts {
  using count = std::atomic<std::uint64_t>;
  count requests{0}, refused{0};                                           // refused: of these, 4xx and 5xx
  count spans{0}, duplicate{0}, invalid{0}, late{0}, over{0};              // spans: accepted, and rejected by reason
  count reported{0}, ended{0}, ended_early{0}, no_agents{0}, given_up{0};  // runs
  count moved{0}, unmergeable{0};  // messages with a changed time or source; runs sent as two
  count busy{0};                   // requests refused: a limit of waiting requests, room, bytes or rate was reached
  count dropped_links{0};          // of accepted spans
  count held_runs{0}, held_spans{0}, held_bytes{0};  // now
};

}  // namespace digd::daemon
