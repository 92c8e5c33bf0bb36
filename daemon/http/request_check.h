// Checks of an HTTP request's target and headers. Pure functions.
//
// Thread: any for the functions. `trusted_names` change before the daemon accepts connections, and are constant
// afterwards: any thread. Bounds: the operator's names, and those of each listener.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/settings/address.h"

namespace digd::daemon {

// Decodes percent-encoding, "+" included; nothing if it is malformed.
std::optional<std::string> decode_percent(std::string_view text);

// Whether a comma-separated header has `token`.
bool names_token(std::string_view header, std::string_view token);

// The accepted values of `Host` and `Origin`. They keep web pages of other sites from talking to the daemon.
class trusted_names {
 public:
  trusted_names() = default;
  // `bound`: the address that digd listens on. `hosts`, `origins`: the operator's additions.
  trusted_names(const listen_address& bound, const std::vector<std::string>& hosts,
                const std::vector<std::string>& origins);

  // Another address that digd listens on. A Unix socket adds no name.
  void add(const listen_address& bound);

  // `is_unix`: the request came over a Unix socket. There any host is trusted, because no web page can reach it.
  bool is_trusted_host(std::string_view host, bool is_unix) const;
  // `host`: the request's, already trusted.
  bool is_trusted_origin(std::string_view origin, std::string_view host, bool is_unix) const;

 private:
  std::vector<std::string> hosts_, origins_;  // lower case
};

}  // namespace digd::daemon
