// Spans of OpenTelemetry: the part of them that the mapping reads.
//
// Plain values, no shared state but the constant origin. Ids are lower-case hexadecimal, times Unix nanoseconds.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace digd::otlp {

// Common to the spans of one scope.
struct origin {
  std::string service;         // the resource's service.name
  std::string scope, version;  // the instrumentation's
};

// In the place of an index: there is no such span, or no turn.
inline constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

// Further links of a span are dropped. OpenTelemetry's SDKs have the same default limit.
inline constexpr std::size_t max_links = 128;

struct span_link {
  std::string trace, span;
};

struct span {
  std::string trace, id;
  std::string parent;  // empty: none
  std::string name;
  std::int64_t start_ns = 0, end_ns = 0;  // end is not before start
  boost::json::object attributes;         // a repeated key: the last one counts
  std::vector<span_link> links;
  bool failed = false;  // status ERROR
  std::string error;    // of a failed one: the status' message, or its exception's
  std::shared_ptr<const origin> from;
};

// Drops the span's links beyond `max`. Returns how many.
inline std::size_t drop_links(span& from, std::size_t max) {
  if (from.links.size() <= max) return 0;
  const std::size_t dropped = from.links.size() - max;
  from.links.resize(max);
  return dropped;
}

// One request, decoded.
struct batch {
  std::vector<span> spans;
  std::size_t rejected = 0;       // invalid spans: no usable ids or times
  std::string problem;            // the first of these: its place, the field, the expected value; empty if none
  std::size_t dropped_links = 0;  // beyond `max_links` of a span
};

}  // namespace digd::otlp
