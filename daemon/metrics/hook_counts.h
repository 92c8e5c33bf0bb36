// The counters of POST /v1/hooks/…, for /metrics. Engine threads write them; any thread reads them.
#pragma once

#include <atomic>
#include <cstdint>

namespace digd::daemon {

struct hook_counts {
  using count = std::atomic<std::uint64_t>;
  count calls{0};                           // well-formed
  count unknown{0};                         // of these, hooks that digd does not know
  count unused{0};                          // of these, hooks that digd knows and does not use
  count malformed{0};                       // answered with 400
  count forbidden{0};                       // answered with 403: the session belongs to another token
  count late{0};                            // answered without a verdict, at the deadline
  count skipped{0};                         // not recorded: the run was congested, or could not be opened
  count denied{0}, blocked{0}, amended{0};  // answers that change what the agent does
  count transcripts_read{0};
  count transcripts_refused{0};  // outside the configured folders, through a link, too long, or not readable
  count transcripts_skipped{0};  // too many calls waited for theirs
  count evicted{0};              // sessions that made room for others
  count idle_runs{0};            // runs that digd ended, because no call came
  count sessions{0};             // now
};

}  // namespace digd::daemon
