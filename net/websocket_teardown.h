// How Beast ends a WebSocket connection over a batched_stream. Argument-dependent lookup finds these functions: include
// this header wherever a Beast WebSocket stream over a batched_stream is instantiated.
#pragma once

#include <boost/beast/core/role.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <utility>

#include "net/batched_stream.h"

namespace digd::net {

inline void teardown(boost::beast::role_type role, batched_stream& stream, boost::system::error_code& ec) {
  boost::beast::websocket::teardown(role, stream.next_layer(), ec);
}

template <class Handler>
void async_teardown(boost::beast::role_type role, batched_stream& stream, Handler&& handler) {
  boost::beast::websocket::async_teardown(role, stream.next_layer(), std::forward<Handler>(handler));
}

}  // namespace digd::net
