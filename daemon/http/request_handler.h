// The interface between an HTTP connection and the rest of the daemon. A handler gives a response now, later or in
// pieces, or becomes the new owner of the socket.
//
// Thread: a handler is called on its connection's thread and must not wait.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "base/ticket.h"
#include "daemon/access/peers.h"
#include "daemon/http/responses.h"
#include "net/batched_stream.h"
#include "net/upgrade_request.h"

namespace digd::daemon {

// May be called on any thread, once.
using response_callback = std::function<void(http_response&&)>;

// A response that another thread makes. The connection holds `place` until the response comes or the connection closes.
// Work that holds only a weak pointer to `place` sees then that no client waits for its response.
struct deferred_response {
  std::function<void(response_callback)> start;
  ticket_ptr place = nullptr;
};

// A response in pieces; each is requested when the one before was written. `next` calls back with status 200 and a
// piece of the body, and at the end with 200 and an empty body. It reports an error by another status: the client gets
// that response if nothing was written before, otherwise the connection is closed.
struct chunked_response {
  std::function<void(response_callback)> next;
};

// A connection that leaves HTTP for another protocol, with all that belongs to it.
struct released_connection {
  net::batched_stream stream;  // still on its connection's thread
  std::string unread;          // bytes that the client sent after the request
  net::upgrade_request request;
  connection_ticket ticket;
};

// The request asks for another protocol. `take` gets the connection, on its thread.
struct protocol_upgrade {
  std::function<void(released_connection&&)> take;
};

using request_result = std::variant<http_response, protocol_upgrade, deferred_response, chunked_response>;

inline constexpr std::size_t max_body_bytes = 4 * 1024;

// How large a request's body may be.
struct body_limit {
  std::size_t max_bytes = max_body_bytes;
  ticket_ptr ticket;                             // held until the request is answered; null for small bodies
  bool is_allowed = false;                       // the request was accepted; its token pays for the connection
  account_ptr token;                             // pays for the body; null where no tokens are configured
  std::function<http_response()> refuse_larger;  // makes the response to a larger body; empty: the usual 413
};

class request_handler {
 public:
  virtual ~request_handler() = default;
  // Before the body is read: its limit, or a refusal in place of reading it. A refusal with `Connection: close` closes
  // the connection; after any other the connection continues if the body is small.
  virtual std::variant<body_limit, http_response> limit_body(const net::upgrade_request& head,
                                                             const peer_ptr& from) = 0;
  // `body`: whole, within its limit; valid during the call. `memory`: the connection's charge; null: none. The
  // handler makes it allowed, so that the token of an accepted request pays for the connection.
  virtual request_result handle(const net::upgrade_request& request, std::string_view body, const peer_ptr& from,
                                memory_charge* memory) = 0;
};

}  // namespace digd::daemon
