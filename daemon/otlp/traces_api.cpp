#include "daemon/otlp/traces_api.h"

#include <boost/beast/core/string.hpp>
#include <chrono>
#include <utility>

#include "base/quote.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;

// The code of google.rpc.Code that fits the HTTP status.
int rpc_code(http::status status) {
  switch (status) {
    case http::status::payload_too_large:
    case http::status::too_many_requests: return 8;     // RESOURCE_EXHAUSTED
    case http::status::service_unavailable: return 14;  // UNAVAILABLE
    default: return 3;                                  // INVALID_ARGUMENT
  }
}

std::string_view without_parameters(std::string_view header) {
  header = header.substr(0, header.find(';'));
  while (!header.empty() && (header.back() == ' ' || header.back() == '\t')) header.remove_suffix(1);
  return header;
}

void add_reason(std::string& message, std::size_t spans, std::string_view reason) {
  if (spans == 0) return;
  if (!message.empty()) message += "; ";
  message += std::to_string(spans) + ' ' + std::string(reason);
}

}  // namespace

http_response respond_traces(otlp::encoding encoding, const rejections& rejected) {
  std::string message;
  add_reason(message, rejected.invalid, "without usable ids or times, the first: " + rejected.invalid_reason);
  add_reason(message, rejected.late, "of runs that have ended (otlp.late_ms)");
  add_reason(message, rejected.over, "over the limit of spans for each run (otlp.run_spans)");
  add_reason(message, rejected.foreign, "of runs that the token does not cover (their ids begin with otlp-)");
  add_reason(message, rejected.dropped_links,
             "links of accepted spans dropped, because a span, the request or a run has too many (docs/otlp.md)");
  const std::size_t total = rejected.invalid + rejected.late + rejected.over + rejected.foreign;
  return respond(http::status::ok, otlp::content_type(encoding), otlp::encode_response(encoding, total, message));
}

http_response refuse_traces(otlp::encoding encoding, http::status status, std::string_view problem,
                            std::int64_t retry_s) {
  http_response response =
      respond(status, otlp::content_type(encoding), otlp::encode_status(encoding, rpc_code(status), problem));
  if (status == http::status::service_unavailable || status == http::status::too_many_requests) {
    response.set(http::field::retry_after, std::to_string(retry_s));
  }
  return response;
}

std::variant<traces_request, http_response> read_headers(const net::upgrade_request& request) {
  traces_request out;
  const std::string_view type = without_parameters(request[http::field::content_type]);
  if (boost::beast::iequals(type, "application/x-protobuf")) {
    out.encoding = otlp::encoding::protobuf;
  } else if (!boost::beast::iequals(type, "application/json")) {
    return refuse_traces(
        otlp::encoding::json, http::status::unsupported_media_type,
        "Content-Type is " + digd::quoted(type) + ", expected application/x-protobuf or application/json");
  }
  const std::string_view packing = request[http::field::content_encoding];
  out.packed = boost::beast::iequals(packing, "gzip") || boost::beast::iequals(packing, "deflate");
  if (!out.packed && !packing.empty() && !boost::beast::iequals(packing, "identity")) {
    return refuse_traces(out.encoding, http::status::unsupported_media_type,
                         "Content-Encoding is " + digd::quoted(packing) + ", expected gzip, deflate or none");
  }
  return out;
}

std::optional<http_response> refuse_rate(const traces_request& request, std::size_t bytes) {
  if (!request.grant) return std::nullopt;
  const auto wait = request.grant->take(std::chrono::steady_clock::now(), bytes);
  if (wait.count() == 0) return std::nullopt;
  return refuse_traces(request.encoding, http::status::too_many_requests,
                       "the token " + digd::quoted(request.grant->name()) + " exceeds its rate",
                       std::chrono::ceil<std::chrono::seconds>(wait).count());
}

}  // namespace digd::daemon
