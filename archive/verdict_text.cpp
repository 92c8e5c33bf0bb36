#include "archive/verdict_text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "base/json_tokens.h"
#include "base/json_writer.h"

namespace digd::archive {

namespace {

// The characters that a frame escapes and the stored text does not: U+007F to U+009F, U+200E, U+200F, U+2028 to U+202E,
// U+2066 to U+2069. They are part of the format, so they never change; base/quote.h may escape more.
bool is_bare(std::uint32_t c) {
  return (c >= 0x7F && c <= 0x9F) || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

// The bare character at `at`, and its length in bytes; 0: there is none.
std::pair<std::uint32_t, std::size_t> bare_character(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i])); };
  std::pair<std::uint32_t, std::size_t> found{};
  if (byte(0) == 0x7F) found = {0x7F, 1};
  if (byte(0) == 0xC2 && at + 1 < text.size()) found = {byte(1), 2};
  if (byte(0) == 0xE2 && at + 2 < text.size()) found = {0x2000 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return is_bare(found.first) ? found : std::pair<std::uint32_t, std::size_t>{};
}

std::string with_bare_characters(std::string_view json) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t next = std::min(json.find('\\', at), json.size());
    out.append(json, at, next - at);
    std::uint32_t value = 0;
    at = std::min(next + 2, json.size());
    if (at < json.size() && json[next + 1] == 'u' && at + 4 <= json.size()) {
      std::from_chars(&json[at], &json[at] + 4, value, 16);
    }
    if (is_bare(value)) {
      append_utf8(out, value);
      at += 4;
    } else {
      out.append(json, next, at - next);
    }
  }
  return out;
}

std::string without_bare_characters(std::string_view stored) {
  std::string out;
  for (std::size_t at = 0; at < stored.size();) {
    const auto [value, length] = bare_character(stored, at);
    if (length == 0) {
      out += stored[at++];
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(value));
    out += escape;
    at += length;
  }
  return out;
}

// Unescapes characters if the escapes can be restored.
void shorten(std::string& text) {
  if (text.find("\\u") == std::string::npos) return;
  std::string shorter = with_bare_characters(text);
  if (without_bare_characters(shorter) == text) text = std::move(shorter);
}

}  // namespace

void compact_verdicts(std::string_view frame, std::span<const detection_row> rows, std::int64_t first_id,
                      std::string& out) {
  if (rows.empty()) {
    out = frame;
  } else {
    out = refer_to_detections(frame, rows, first_id);
  }
  shorten(out);
}

void compact_deliveries(std::string_view event_ids, std::string& out) {
  out = event_ids;
  shorten(out);
}

bool is_deliveries(std::string_view stored) { return stored.starts_with('['); }

std::optional<std::string> expand_verdicts(std::string_view stored, std::uint64_t seq, const detection_source& whole) {
  const std::string escaped = without_bare_characters(stored);
  if (!is_deliveries(stored)) return insert_detections(escaped, whole);
  std::string frame;
  json_writer to(frame);
  to.open_object().key("type").text("verdicts").key("seq").integer(seq).key("verdicts").open_array();
  for (std::size_t at = 1; at < escaped.size() && escaped[at] == '"'; ++at) {  // after `[` or `,`
    const std::size_t end = end_of_string(escaped, at);
    const std::string_view id = std::string_view(escaped).substr(at, end - at);
    to.open_object().key("event").raw(id).key("action").text("deliver").close_object();
    at = end;
  }
  to.close_array().close_object();
  return frame;
}

}  // namespace digd::archive
