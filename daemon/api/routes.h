// Which HTTP request gets what: the one table of paths. No I/O: what takes time is handed back as work.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/access/tokens.h"
#include "daemon/http/responses.h"
#include "daemon/feed/feed_reader.h"
#include "daemon/http/request_check.h"

namespace digd::daemon {

struct shared_state;

// It becomes a WebSocket of a multi-agent system; of the run that it named.
struct to_ingest {
  std::optional<std::string> run;
  grant_ptr with;  // null where no tokens are configured
};
// It becomes a WebSocket that reads the feed.
struct to_feed {
  feed_request asked;
};
// It is answered later. `answer` may be called on any thread, once.
struct later {
  using answer = std::function<void(http_response&&)>;
  std::function<void(answer)> start;
};
// It is answered in pieces, each made when the one before was taken. `next` calls back once, on any thread, with 200
// and a piece of the body, at the end with 200 and nothing; with an error, which the client is told if nothing went out
// before it, and which otherwise cuts the connection.
struct in_pieces {
  std::function<void(later::answer)> next;
};
using routed = std::variant<http_response, to_ingest, to_feed, later, in_pieces>;

// Before a body is read: how large it may be, and whether it is held against the large ones under way; or why it is not
// even read.
struct body_room {
  std::size_t bytes = 0;
  bool large = false;
};
std::variant<body_room, http_response> room_for_body(const net::upgrade_request& head, shared_state& shared);

// `body`: whole, at most as large as there was room for.
routed route(const net::upgrade_request& request, std::string_view body, shared_state& shared);

inline constexpr std::size_t most_body_bytes = 4 * 1024;
inline constexpr std::size_t most_large_bodies = 64;
inline constexpr std::string_view ingest_subprotocol = "digd.v1";

}  // namespace digd::daemon
