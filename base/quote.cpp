#include "base/quote.h"

#include <cstdint>
#include <cstdio>

namespace digd {

namespace {

// The code point at `at` and its length in bytes; a length of 0 means invalid UTF-8.
struct code_point {
  std::uint32_t value = 0;
  std::size_t length = 0;
};

code_point read(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || at + length > text.size()) return {};
  if (length == 1) return {lead, 1};
  std::uint32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(at + i) & 0x3Fu);
  }
  constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  return value < smallest[length] || value > 0x10FFFF || surrogate ? code_point{} : code_point{value, length};
}

bool deceptive(std::uint32_t c) {
  return (c >= 0x7F && c <= 0x9F) || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

void append_escape(std::string& out, std::uint32_t c) {
  char buffer[12];
  std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
  out += buffer;
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c >= 0x20 && c < 0x7F) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
      ++at;
      continue;
    }
    const code_point point = read(text, at);
    if (point.length == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
      continue;
    }
    switch (point.value) {
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (point.value < 0x20 || deceptive(point.value)) {
          append_escape(out, point.value);
        } else {
          out.append(text, at, point.length);
        }
    }
    at += point.length;
  }
  out += '"';
}

std::string quoted(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(out, text);
  return out;
}

}  // namespace digd
