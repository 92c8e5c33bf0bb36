#include "daemon/fleet/bucket.h"
#include "daemon/fleet/stream.h"

namespace digd::daemon {

std::unique_ptr<stream> connect_stream(const fleet_settings&, std::string& problem) {
  problem = "this digd was built without the client of NATS";
  return nullptr;
}

std::unique_ptr<bucket> connect_bucket(const fleet_settings&, std::chrono::milliseconds, std::string& problem) {
  problem = "this digd was built without the client of NATS";
  return nullptr;
}

}  // namespace digd::daemon
