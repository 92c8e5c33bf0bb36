// A run, a detection or an intervention as an OpenTelemetry span: the body of a request to an OTLP/HTTP receiver
// (opentelemetry-proto 1.x, ExportTraceServiceRequest as protobuf). Pure functions.
//
// The spans of a run share a trace. It is the user's own if the run names it: by the label `traceparent` (W3C Trace
// Context), or because the run was made of that trace's spans (`otlp-` and its id). Ids are hashes, so every attempt
// sends the same span.
// Bounds: a text has at most `max_text_bytes`, a span at most 128 events. Failure: none; fields that a stored text
// lacks are left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/callback.h"

namespace digd::daemon {

struct otlp_context {
  std::string trace_id;        // 16 bytes
  std::string parent_span_id;  // 8 bytes; empty: the run's span is the first of its trace
  std::string run_span_id;     // 8 bytes
};

inline constexpr std::size_t max_text_bytes = 4'096;

// `archive_prefix`: the random prefix of the archive's callbacks.
otlp_context otlp_context_of(std::string_view archive_prefix, std::uint64_t run_number, std::string_view run,
                             const std::vector<std::pair<std::string, std::string>>& labels);

// `id`: as of `callback_id`. `dashboard`: where people open the dashboard; empty: spans have no link.
std::string otlp_body(const otlp_context& context, std::string_view id, callback_kind kind,
                      const callback_text& callback, std::string_view dashboard);

}  // namespace digd::daemon
