#include "ingest/otlp/span_builder.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"

namespace digd::otlp {

namespace {

std::string unless_zero(std::string id) {
  return id.find_first_not_of('0') == std::string::npos ? std::string() : std::move(id);
}

std::string_view fault_of(const span& span, raw_times when) {
  constexpr std::uint64_t max_ns = std::uint64_t{1} << 62;  // the year 2116; leaves room for sums
  if (span.trace.empty()) return "traceId: expected 16 bytes, not all zero";
  if (span.id.empty()) return "spanId: expected 8 bytes, not all zero";
  if (when.start_ns == 0 || when.start_ns > max_ns) return "startTimeUnixNano: expected nanoseconds since 1970";
  if (when.end_ns > max_ns) return "endTimeUnixNano: expected nanoseconds since 1970";
  return {};
}

}  // namespace

std::string id_from_hex(std::string_view hex, std::size_t bytes) {
  if (hex.size() != 2 * bytes) return {};
  std::string out(hex);
  for (char& c : out) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    if (hex_digits.find(c) == std::string_view::npos) return {};
  }
  return unless_zero(std::move(out));
}

std::string id_from_bytes(std::string_view raw, std::size_t bytes) {
  return raw.size() == bytes ? unless_zero(to_hex(raw)) : std::string();
}

void take_span(batch& into, span&& span, raw_times when, std::string_view where) {
  if (const std::string_view wrong = fault_of(span, when); !wrong.empty()) {
    if (into.rejected++ == 0) into.problem = std::string(where) + '.' + std::string(wrong);
    return;
  }
  span.start_ns = static_cast<std::int64_t>(when.start_ns);
  span.end_ns = std::max(span.start_ns, static_cast<std::int64_t>(when.end_ns));
  if (span.parent == span.id) span.parent.clear();
  into.spans.push_back(std::move(span));
}

}  // namespace digd::otlp
