// POST /v1/traces: its limits before the body is read, and its way to the spans' thread. Counts what it refuses.
#include <memory>
#include <string>
#include <utility>

#include "daemon/api/call.h"
#include "daemon/otlp/otlp_server.h"
#include "daemon/otlp/traces_api.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;

// `is_over_limit`: the same request may be accepted later, or with a higher limit.
http_response count_refusal(const span_intake& spans, http_response&& response, bool is_over_limit) {
  if (spans.server != nullptr) spans.server->count_refused(is_over_limit);
  return std::move(response);
}

http_response refuse_larger(const span_intake& spans, otlp::encoding encoding) {
  const std::string problem = "the body is over " + std::to_string(spans.max_body_bytes) + " bytes (otlp.body_bytes)";
  return count_refusal(spans, refuse_traces(encoding, http::status::payload_too_large, problem), true);
}

}  // namespace

std::variant<body_limit, http_response> limit_spans(const call& in, account_ptr token) {
  span_intake& spans = in.services.spans;
  auto read = read_headers(in.request);
  if (auto* no = std::get_if<http_response>(&read)) return count_refusal(spans, std::move(*no), false);
  const otlp::encoding encoding = std::get<traces_request>(read).encoding;
  ticket_ptr slot = spans.bodies.take(client_of(in));
  if (!slot) {
    return count_refusal(spans,
                         refuse_traces(encoding, http::status::service_unavailable,
                                       "too many requests at once, of all or of this client; send this again"),
                         true);
  }
  return body_limit{.max_bytes = spans.max_body_bytes,
                    .ticket = std::move(slot),
                    .is_allowed = true,
                    .token = std::move(token),
                    .refuse_larger = [&spans, encoding] { return refuse_larger(spans, encoding); }};
}

routed post_traces(call& in) {
  const span_intake& spans = in.services.spans;
  auto read = read_headers(in.request);
  if (auto* no = std::get_if<http_response>(&read)) return count_refusal(spans, std::move(*no), false);
  auto request = std::get<traces_request>(std::move(read));
  request.grant = in.grant;
  if (auto no = refuse_rate(request, in.body.size())) return count_refusal(spans, std::move(*no), true);
  request.body = in.body;
  const auto shared_request = std::make_shared<traces_request>(std::move(request));
  return deferred_response{[server = spans.server, request = shared_request](const response_callback& respond_to) {
    const otlp::encoding encoding = request->encoding;
    if (!server->submit(std::move(*request), respond_to)) {
      respond_to(refuse_traces(encoding, http::status::service_unavailable, "too many requests wait; send this again"));
    }
  }};
}

}  // namespace digd::daemon
