// Common to both decoders: turns the raw fields of a span into a span, or counts it as rejected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ingest/otlp/span.h"

namespace digd::otlp {

inline constexpr std::size_t trace_id_bytes = 16, span_id_bytes = 8;

// Lower-case; empty if it is not an id of that many bytes, or all zero.
std::string id_from_hex(std::string_view hex, std::size_t bytes);
std::string id_from_bytes(std::string_view raw, std::size_t bytes);

// Times as sent.
struct raw_times {
  std::uint64_t start_ns = 0, end_ns = 0;
};
// Adds the span to the batch, or counts it as rejected: an empty trace or span id is invalid. `where`: its place.
void take_span(batch& into, span&& span, raw_times when, std::string_view where);

}  // namespace digd::otlp
