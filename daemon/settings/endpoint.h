// Where a webhook goes: its URL taken apart, once, when the configuration is read. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace digd::daemon {

struct endpoint {
  bool tls = false;
  std::string host;  // as it is looked up: no brackets around an IPv6 address
  std::uint16_t port = 0;
  std::string host_header;  // as in `Host`: with brackets, and with a port that is not the scheme's own
  std::string target;       // path and query, percent-encoded as given; "/" if there is none
  bool is_address = false;  // the host is an IP address, not a name

  // This machine alone: a loopback address, or `localhost`.
  bool is_loopback() const;
  // "https://hooks.example.org/…": what may be shown. The path may be a secret of its own (Slack's is).
  std::string shown() const;
};

// What is wrong with the URL, in words that do not quote it; empty if it was taken.
std::string parse_endpoint(const std::string& url, endpoint& into);

}  // namespace digd::daemon
