// Liveness and readiness, and the facts of the moment for /metrics. Any thread: reads atomics, and the archive's own
// health.
#pragma once

#include <string>
#include <vector>

#include "daemon/metrics/metrics.h"
#include "daemon/http/responses.h"

namespace digd::daemon {

struct shared_state;

struct reason {
  std::string code;  // archive, archive_queue, congested, overload_archive, overload_memory, recovering, stopping
  std::string message;
};

// Why the daemon should not be sent work now; empty if it should.
std::vector<reason> why_not_ready(const shared_state& shared);
http_response readiness(const shared_state& shared);
http_response metrics(const shared_state& shared);

}  // namespace digd::daemon
