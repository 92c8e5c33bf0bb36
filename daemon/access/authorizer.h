// Whether somebody may come in: a request's bearer token against the tokens that hold now, a Unix socket's peer against
// the users. Threads: any; tokens and users change as a whole on reload.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/access/tokens.h"
#include "daemon/http/responses.h"
#include "net/websocket_session.h"

namespace digd::daemon {

class authorizer {
 public:
  // No tokens: all may come in.
  bool is_open() const { return !now(); }
  // Puts these tokens in force; connections of those that are gone end.
  void admit(token_table tokens);

  // Users beside the daemon's own and root.
  void admit_users(std::vector<uid_t> users);
  bool lets_in_peer_of(int unix_socket) const;

  struct entrance {
    grant_ptr with;                        // null where no tokens are configured
    std::optional<http_response> refused;  // 401 or 403
  };
  // `run`: the one that the path or the query names; empty: none.
  entrance check(const net::upgrade_request& request, right needed, std::string_view run) const;

 private:
  std::shared_ptr<const token_table> now() const;

  mutable std::mutex guard_;
  std::shared_ptr<const token_table> table_;
  std::vector<uid_t> users_;
};

// The token of `Authorization: Bearer …`, or of a WebSocket's subprotocol `bearer.…`, which is all a browser can send.
std::optional<std::string_view> token_of(const net::upgrade_request& request);

}  // namespace digd::daemon
