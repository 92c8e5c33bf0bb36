// Decodes OTLP trace requests (ExportTraceServiceRequest) in both encodings into spans, and encodes the answers.
//
// Pure functions, any thread, nothing throws. Time and memory are proportional to the bytes of a request. A protobuf
// request with more than `max_items` messages (spans, attributes, links …) or `max_depth` levels is refused before it
// is decoded. Format: opentelemetry-proto 1.x, "OpenTelemetry Protocol Specification" 1.x (OTLP/HTTP). Unknown fields
// are ignored.
#pragma once

#include <boost/system/result.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ingest/otlp/span.h"

namespace digd::otlp {

enum class encoding : std::uint8_t { json, protobuf };
std::string_view content_type(encoding);

struct decode_failure {
  std::string message;     // the field, its place, the expected value; text of the sender is escaped and cut
  bool too_large = false;  // it is well-formed, but over a limit
};
using decode_outcome = boost::system::result<batch, decode_failure>;

inline constexpr std::size_t max_items = 1'000'000;
inline constexpr std::size_t max_depth = 100;

decode_outcome decode(encoding encoding, std::string_view body);
decode_outcome decode_json(std::string_view body);
decode_outcome decode_protobuf(std::string_view body);

// ExportTraceServiceResponse: how many spans were rejected, and why.
std::string encode_response(encoding encoding, std::size_t rejected, std::string_view problem);
// google.rpc.Status, the answer to a refused request. `code`: of google.rpc.Code.
std::string encode_status(encoding encoding, int code, std::string_view message);

// Called by `decode_outcome::value()` on a failure (found by argument-dependent lookup).
[[noreturn]] void throw_exception_from_error(const decode_failure&, const boost::source_location&);

}  // namespace digd::otlp
