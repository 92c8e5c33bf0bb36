// POST /v1/traces as HTTP: checks requests, and answers as OTLP/HTTP requires, in the encoding of the request.
// Pure functions except `refuse_rate`; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/access/tokens.h"
#include "daemon/http/responses.h"
#include "ingest/otlp/decode.h"
#include "net/upgrade_request.h"

namespace digd::daemon {

// A request, detached from its connection.
struct traces_request {
  otlp::encoding encoding = otlp::encoding::json;
  bool packed = false;
  std::string body;
  grant_ptr grant;  // null where no tokens are configured
};

// How many spans of a request were rejected, by reason.
struct rejections {
  std::size_t invalid = 0;        // no usable ids or times
  std::size_t late = 0;           // of runs that have ended
  std::size_t over = 0;           // over the limit of spans for each run
  std::size_t foreign = 0;        // of runs that the token does not cover
  std::size_t dropped_links = 0;  // of accepted spans
  std::string invalid_reason;     // for the first invalid span
};

// 200; with `partial_success` if spans were rejected or links dropped.
http_response respond_traces(otlp::encoding encoding, const rejections& rejected);
// google.rpc.Status in the body; 429 and 503 with Retry-After.
http_response refuse_traces(otlp::encoding encoding, boost::beast::http::status status, std::string_view problem,
                            std::int64_t retry_s = 1);

// Reads the request's headers; the body stays empty. 415 for an unknown type or compression.
std::variant<traces_request, http_response> read_headers(const net::upgrade_request& request);
// Counts a request towards the token's rate. 429 if it is over the rate.
std::optional<http_response> refuse_rate(const traces_request& request, std::size_t bytes);

}  // namespace digd::daemon
