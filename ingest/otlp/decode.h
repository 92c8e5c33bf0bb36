// OTLP trace requests (ExportTraceServiceRequest) in both encodings into spans; answers out of them.
//
// Pure functions, any thread, nothing is thrown. Whatever a sender writes is refused or taken in time and memory
// proportional to its bytes: what would unfold into more than `most_items` messages (spans, attributes, links …) or
// `most_depth` levels is refused before it is built.
// Format: opentelemetry-proto 1.x, "OpenTelemetry Protocol Specification" 1.x (OTLP/HTTP). Unknown fields are ignored.
#pragma once

#include <boost/system/result.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ingest/otlp/span.h"

namespace digd::otlp {

enum class encoding : std::uint8_t { json,
                                     protobuf };
std::string_view content_type(encoding);

struct decode_failure {
  std::string message;     // what, where, what was expected; text of the sender is escaped and cut
  bool too_large = false;  // it is well-formed, and more than is taken
};
using decode_outcome = boost::system::result<batch, decode_failure>;

inline constexpr std::size_t most_items = 1'000'000;
inline constexpr std::size_t most_depth = 100;

decode_outcome decode(encoding how, std::string_view body);
decode_outcome decode_json(std::string_view body);
decode_outcome decode_protobuf(std::string_view body);

// ExportTraceServiceResponse: what was not taken, and why; with 0 and no words, everything was.
std::string encode_response(encoding how, std::size_t rejected, std::string_view why);
// google.rpc.Status, which a client that was refused gets. `code`: of google.rpc.Code.
std::string encode_status(encoding how, int code, std::string_view message);

// What `decode_outcome::value()` does where there is none (found by argument-dependent lookup).
[[noreturn]] void throw_exception_from_error(const decode_failure&, const boost::source_location&);

}  // namespace digd::otlp
