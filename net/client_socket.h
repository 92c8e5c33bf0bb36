// Connects the WebSocket client to a daemon and waits for the result. The HTTP client shares the lookup of a host and
// the error sentences.
//
// Thread: the one that runs the io_context. This header includes Asio, so only .cpp files include it.
#pragma once

#include <boost/system/error_code.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/server_address.h"
#include "net/types.h"

namespace digd::net {

using client_clock = std::chrono::steady_clock;

// Runs the io_context until `ready` is set or the deadline passes. Returns `ready`.
bool run_until(asio::io_context& io, const bool& ready, client_clock::time_point until);

// Connects to the first of the address's endpoints that accepts. Returns an empty string, or a sentence that says what
// to do. `owner` owns the socket; operations that are pending after the deadline hold it.
std::string connect_to(asio::io_context& io, stream_socket& socket, const server_address& to,
                       client_clock::time_point until, std::shared_ptr<void> owner);

// Both block until the host is looked up; a Unix socket needs no lookup.
using generic_endpoint = asio::generic::stream_protocol::endpoint;
std::vector<generic_endpoint> look_up(const std::string& host, const std::string& port, boost::system::error_code& ec);
std::vector<generic_endpoint> look_up(const server_address& to, boost::system::error_code& ec);

// Sentences that say what to do.
std::string no_address(const server_address& to, const boost::system::error_code& ec);
std::string no_connection(const server_address& to, const boost::system::error_code& ec);
std::string no_tls(const server_address& to, const boost::system::error_code& ec);

// The value of the `Host` header.
std::string host_of(const server_address& to);

}  // namespace digd::net
