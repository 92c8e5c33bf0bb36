// Connects a client to a daemon, and waits: for the WebSocket client and the HTTP client.
//
// Thread: that which runs the io_context. Includes Asio: for .cpp files.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "net/client.h"
#include "net/types.h"

namespace digd::net {

using client_clock = std::chrono::steady_clock;

// Runs the io_context until `ready` or the deadline.
bool run_until(asio::io_context& io, const bool& ready, client_clock::time_point until);

// Connects to the first of the address's endpoints that accepts. Returns an empty string, or a sentence that says what
// to do. `owner` owns the socket; operations that are pending after the deadline hold it.
std::string connect_to(asio::io_context& io, stream_socket& socket, const server_address& to,
                       client_clock::time_point until, std::shared_ptr<void> owner);

// The value of the `Host` header.
std::string host_of(const server_address& to);

// Text of the other side for a message: short and escaped.
std::string harmless(std::string_view text);

}  // namespace digd::net
