// The section [fleet] of the configuration; daemon/settings/fleet_options.cpp explains each field.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace digd::daemon {

struct fleet_settings {
  std::vector<std::string> servers;  // empty: this daemon belongs to no fleet
  std::string credentials;           // a file
  std::string ca;                    // a file
  std::string tenant = "default";
  std::string host;                                      // empty: the name of this machine
  std::uint64_t stream_bytes = std::uint64_t{10} << 30;  // of the stream that digd creates; 0: no limit
  std::uint64_t stream_days = 7;
  bool operator==(const fleet_settings&) const = default;
};

}  // namespace digd::daemon
