// POST /v1/traces as HTTP: which requests are taken, and answers as OTLP/HTTP asks for them, in the request's encoding.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/otlp/otlp_server.h"
#include "ingest/websocket_session.h"

namespace digd::daemon {

// Why spans of a request were not taken: so many each.
struct rejections {
  std::size_t invalid = 0;  // no usable ids or times
  std::size_t late = 0;     // of runs that have ended
  std::size_t over = 0;     // of runs with as many spans as a run may have
  std::size_t foreign = 0;  // of runs that the token is not for
  std::string why_invalid;  // of the first
};

// 200; with `partial_success` if spans were rejected.
http_response respond_traces(otlp::encoding how, const rejections& rejected);
// google.rpc.Status in the body; 429 and 503 with Retry-After.
http_response refuse_traces(otlp::encoding how, boost::beast::http::status status, std::string_view why, std::int64_t retry_s = 1);

// The request without its body, by its headers: 415 where they name what is not understood.
std::variant<traces_request, http_response> read_headers(const ingest::upgrade_request& request);
// Paced by its token: 429.
std::optional<http_response> refuse_rate(const traces_request& request);

}  // namespace digd::daemon
