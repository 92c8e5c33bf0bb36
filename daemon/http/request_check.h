// Whether an HTTP request may come in: pure functions over its target and headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/settings/address.h"

namespace digd::daemon {

// Percent-decoding, "+" too; nothing if it is broken.
std::optional<std::string> decode_percent(std::string_view text);

// Whether a comma-separated header names `token`.
bool names_token(std::string_view header, std::string_view token);

// What `Host` and `Origin` may say, so that no web page of somebody else's talks to the daemon.
class trusted_names {
 public:
  trusted_names() = default;
  // `bound`: what is listened on. `hosts`, `origins`: the operator's additions.
  trusted_names(const listen_address& bound, const std::vector<std::string>& hosts,
                const std::vector<std::string>& origins);

  bool is_trusted_host(std::string_view host) const;
  // `host`: the request's own, which is trusted already.
  bool is_trusted_origin(std::string_view origin, std::string_view host) const;

 private:
  std::vector<std::string> hosts_, origins_;  // lower case
  bool any_host_ = false;                     // a Unix socket: no web page gets there
};

}  // namespace digd::daemon
