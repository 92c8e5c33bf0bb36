// Asio's types with their executor's type known: `any_io_executor` makes each operation a fifth slower.
#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>

namespace digd::net {

namespace asio = boost::asio;

using executor = asio::io_context::executor_type;
using stream_socket = asio::basic_stream_socket<asio::generic::stream_protocol, executor>;  // TCP or Unix
using steady_timer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, executor>;

}  // namespace digd::net
