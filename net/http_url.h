// A parsed http:// or https:// URL: of a webhook, of a language model or of a proxy. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace digd::net {

struct http_url {
  bool tls = false;
  std::string host;  // for the lookup: no brackets around an IPv6 address
  std::uint16_t port = 0;
  std::string host_header;  // for `Host`: with brackets, and with the port unless it is the scheme's default
  std::string target;       // path and query, percent-encoded as given; "/" if there is none
  bool is_address = false;  // the host is an IP address, not a name

  // Only this machine: a loopback address, or `localhost`.
  bool is_loopback() const;
  // "https://hooks.example.org/…": the part that may be shown. The path may be a secret (as Slack's is).
  std::string shown() const;
};

// Returns the URL's problem in words that do not quote it; empty if it was parsed.
std::string parse_http_url(const std::string& url, http_url& into);

}  // namespace digd::net
