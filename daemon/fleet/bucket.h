// The key-value bucket `digd_homes` of a fleet (daemon/fleet/homes/home_records.h). The implementation for NATS is
// nats_bucket.cpp; a digd without the client of NATS has no_stream.cpp.
//
// Thread: any, several at once. Bounds: each call waits for at most `max_wait`. Failure: in the reply; nothing throws.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "daemon/fleet/fleet_settings.h"
#include "daemon/fleet/homes/home_records.h"

namespace digd::daemon {

class bucket {
 public:
  virtual ~bucket() = default;
  virtual bucket_reply call(const bucket_request& request) = 0;
  // The connection has ended permanently, and no call will succeed.
  virtual bool is_closed() const = 0;
  // Removes the key, if it still has the revision. Empty: done; else a problem.
  virtual std::string remove(const std::string& key, std::uint64_t revision) = 0;
};

// Connects, and creates the bucket if the server has none. Null: `problem` has the reason.
std::unique_ptr<bucket> connect_bucket(const fleet_settings& settings, std::chrono::milliseconds max_wait,
                                       std::string& problem);

}  // namespace digd::daemon
