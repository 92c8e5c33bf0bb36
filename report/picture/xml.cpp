#include "report/picture/xml.h"

#include "base/quote.h"

namespace digd::picture {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

int hex_of(std::string_view digits) {
  int value = 0;
  for (const char c : digits) value = value * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
  return value;
}

}  // namespace

// `quoted` has already escaped the unsafe characters. Undoes its escapes of characters that are harmless in XML.
std::string xml(std::string_view text) {
  const std::string quoted = digd::quoted(text);
  std::string out;
  out.reserve(quoted.size() + 8);
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    char c = quoted[i];
    if (c == '\\') {
      c = quoted[++i];
      if (c == 'n' || c == 'r' || c == 't') c = ' ';
      if (c == 'u') {
        const int code = hex_of(std::string_view(quoted).substr(i + 1, 4));
        i += 4;
        if (code == 0x200E || code == 0x200F || code == 0x2028 || code == 0x2029 || code < 0x20 || code >= 0x7F) {
          out += replacement;
          continue;
        }
      }
    }
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\xEF':  // U+FFFE and U+FFFF are not characters
        if (quoted.compare(i, 3, "\xEF\xBF\xBE") == 0 || quoted.compare(i, 3, "\xEF\xBF\xBF") == 0) {
          out += replacement;
          i += 2;
          break;
        }
        [[fallthrough]];
      default: out += c;
    }
  }
  return out;
}

}  // namespace digd::picture
