#include "base/quote.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

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

struct code_range {
  std::uint32_t first, last;
};

// Control characters, and characters that show nothing or change the order of others (Unicode: Cc, Cf,
// Default_Ignorable_Code_Point). Joiners (U+200C, U+200D) and variation selectors stay: scripts and emoji need them.
constexpr code_range hidden[] = {{0x00, 0x1F},       {0x7F, 0x9F},       {0xAD, 0xAD},       {0x034F, 0x034F},
                                 {0x061C, 0x061C},   {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180E, 0x180E},
                                 {0x200B, 0x200B},   {0x200E, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
                                 {0x3164, 0x3164},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},
                                 {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE00FF}, {0xE01F0, 0xE0FFF}};

bool deceptive(std::uint32_t c) {
  return std::any_of(std::begin(hidden), std::end(hidden),
                     [c](const code_range& range) { return c >= range.first && c <= range.last; });
}

// Appends \uXXXX. JSON writes a character beyond U+FFFF as a pair of surrogates.
void append_escape(std::string& out, std::uint32_t c) {
  char buffer[16];
  if (c > 0xFFFF) {
    std::snprintf(buffer, sizeof buffer, "\\u%04x\\u%04x", static_cast<unsigned>(0xD7C0 + (c >> 10)),
                  static_cast<unsigned>(0xDC00 + (c & 0x3FF)));
  } else {
    std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
  }
  out += buffer;
}

bool needs_no_escape(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

void append_content(std::string& out, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t plain = at;
    while (plain < text.size() && needs_no_escape(text[plain])) ++plain;
    out.append(text.data() + at, plain - at);
    at = plain;
    if (at == text.size()) return;
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
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      default:
        if (point.value < 0x20 || deceptive(point.value)) {
          append_escape(out, point.value);
        } else {
          out.append(text, at, point.length);
        }
    }
    at += point.length;
  }
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_content(out, text);
  out += '"';
}

std::string quoted(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(out, text);
  return out;
}

std::size_t quoted_size(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), needs_no_escape)) return text.size() + 2;
  return quoted(text).size();
}

std::string quoted_briefly(std::string_view text) {
  std::string out = quoted(text);
  if (quoted_size(out) - 2 <= max_brief_bytes) return out;
  constexpr std::string_view rest = "…\"";
  out = '"';
  std::size_t written = 4 + rest.size() - 1;  // both quotes, each escaped with a backslash
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(read(text, at).length, 1);
    std::string piece;
    append_content(piece, text.substr(at, length));
    written += quoted_size(piece) - 2;
    if (written > max_brief_bytes) break;
    out += piece;
    at += length;
  }
  return out += rest;
}

std::string cut_to_quote(std::string text, std::size_t max_bytes) {
  if (quoted_size(text) - 2 <= max_bytes) return text;
  constexpr std::string_view rest = "…";
  std::size_t written = rest.size(), at = 0;
  while (at < text.size()) {
    const std::size_t length = std::max<std::size_t>(read(text, at).length, 1);
    written += quoted_size(std::string_view(text).substr(at, length)) - 2;
    if (written > max_bytes) break;
    at += length;
  }
  text.resize(at);
  return text += rest;
}

}  // namespace digd
