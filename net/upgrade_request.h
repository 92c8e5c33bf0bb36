// The HTTP request that a WebSocket connection begins with, once its header was read.
#pragma once

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

namespace digd::net {

using upgrade_request = boost::beast::http::request<boost::beast::http::empty_body>;

}  // namespace digd::net
