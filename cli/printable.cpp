#include "cli/printable.h"

#include <algorithm>

#include "report/picture/text.h"

namespace digd::cli {

namespace {

bool is_plain(char c) { return c >= 0x20 && c < 0x7F; }

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_plain(text[end])) ++end;
    out.append(text.substr(at, end - at));
    at = end;
    while (end < text.size() && !is_plain(text[end]) && static_cast<unsigned char>(text[end]) >= 0x7F) ++end;
    if (end > at) {
      out += picture::safe(text.substr(at, end - at));
    } else if (end < text.size()) {
      ++end;  // a control character below 0x20
      const char c = text[at];
      out += c == '\n' || c == '\r' || c == '\t' ? std::string(" ") : picture::safe(text.substr(at, 1));
    }
    at = end;
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t end; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find('\n'), text.size());
    out += printable(text.substr(0, end)) + '\n';
  }
  return out;
}

}  // namespace digd::cli
