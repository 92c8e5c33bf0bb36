// The result of a request: an answer, now or later, or what its connection becomes.
//
// Plain values, made and taken on the connection's thread.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "daemon/access/tokens.h"
#include "daemon/feed/feed_reader.h"
#include "daemon/http/request_handler.h"

namespace digd::daemon {

// The connection becomes a client's WebSocket.
struct to_ingest {
  std::optional<std::string> run;  // none: the request named no run
  grant_ptr grant;                 // null where no tokens are configured
  ticket_ptr counted;              // counts the connection for its token
};
// The connection becomes a WebSocket that reads the feed.
struct to_feed {
  feed_request request;
};
using routed = std::variant<http_response, to_ingest, to_feed, deferred_response, chunked_response>;

}  // namespace digd::daemon
