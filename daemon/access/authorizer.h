// Decides whether a request is allowed, by its bearer token, and whether a Unix socket's peer may connect, by its user.
// Threads: any. A reload replaces all tokens and users at once. Bounds: those of the tokens file. Failure: a refusal.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/access/tokens.h"
#include "net/upgrade_request.h"

namespace digd::daemon {

class authorizer {
 public:
  // Without tokens every request is allowed.
  bool has_tokens() const { return current() != nullptr; }
  byte_limits byte_limits_of_tokens() const;
  // Replaces the tokens. Ends the connections of removed tokens.
  void set_tokens(token_table tokens);

  // Users besides the daemon's own and root.
  void set_users(std::vector<uid_t> users);
  bool may_connect(int unix_socket) const;

  struct decision {
    grant_ptr grant;                     // null if no tokens are configured, or the token is unknown
    std::optional<std::string> refused;  // the reason of a refusal; none: the request is allowed
  };
  // `run`: the run that the path or the query names; empty: none.
  decision check(const net::upgrade_request& request, right needed, std::string_view run) const;

 private:
  std::shared_ptr<const token_table> current() const;

  mutable std::mutex guard_;
  std::shared_ptr<const token_table> table_;
  std::vector<uid_t> users_;
};

// The token in `Authorization: Bearer …`, or in a WebSocket's subprotocol `bearer.…`: browsers can send no header.
std::optional<std::string_view> token_of(const net::upgrade_request& request);

}  // namespace digd::daemon
