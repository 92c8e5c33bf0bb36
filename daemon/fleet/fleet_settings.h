// The section [fleet] of the configuration; daemon/settings/fleet_options.cpp explains each field.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace digd::daemon {

struct fleet_settings {
  std::vector<std::string> servers;  // empty: this daemon belongs to no fleet
  std::vector<std::string> view;     // not empty: a viewer, which judges nothing and shows the fleet at these URLs
  std::string credentials;           // a file
  std::string ca;                    // a file
  std::string tenant = "default";
  std::string host;                                      // empty: the name of this machine
  std::uint64_t stream_bytes = std::uint64_t{10} << 30;  // of the stream that digd creates; 0: no limit
  std::uint64_t stream_days = 7;
  std::string url;                         // for clients; empty: runs have no homes
  std::uint64_t lease_ms = 9'000;          // how long a daemon without a connection keeps its runs
  std::string on_lost_stream = wait_word;  // or local_word

  static constexpr const char *wait_word = "wait", *local_word = "local";
  bool is_view() const { return !view.empty(); }
  bool has_homes() const { return !servers.empty() && !url.empty(); }
  bool pins_runs() const { return on_lost_stream == local_word; }
  bool operator==(const fleet_settings&) const = default;
};

}  // namespace digd::daemon
