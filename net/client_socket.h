// How clients of a daemon come by a connected socket, and wait: for the WebSocket client and the HTTP client.
//
// Thread: that which runs the io_context. Includes Asio: for .cpp files.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "net/batched_stream.h"
#include "net/client.h"

namespace digd::net {

using client_clock = std::chrono::steady_clock;

// Runs the io_context until `ready` or the deadline.
bool run_until(asio::io_context& io, const bool& ready, client_clock::time_point until);

// Connects to the first of the address's endpoints that takes it. Empty if done, else a sentence that says what to do.
// What is pending after a deadline holds `owner`, in which the socket lives.
std::string connect_to(asio::io_context& io, stream_socket& socket, const server_address& to,
                       client_clock::time_point until, std::shared_ptr<void> owner);

// What goes into `Host`.
std::string host_of(const server_address& to);

// For a message: what came from the other side, short and harmless.
std::string harmless(std::string_view text);

}  // namespace digd::net
