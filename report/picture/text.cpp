#include "report/picture/text.h"

#include <clocale>
#include <cwchar>

#include "base/quote.h"

namespace digd::picture {

namespace {

// wcwidth depends on the thread's locale. This locale has Unicode, whatever the user's locale is.
class unicode_locale {
 public:
  unicode_locale() {
    static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (unicode != nullptr) before_ = uselocale(unicode);
  }
  ~unicode_locale() {
    if (before_ != nullptr) uselocale(before_);
  }
  unicode_locale(const unicode_locale&) = delete;
  unicode_locale& operator=(const unicode_locale&) = delete;

 private:
  locale_t before_ = nullptr;
};

struct piece {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

// The character, or the escape sequence, that begins at `at`.
piece piece_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead == 0x1B) {
    const std::size_t end = text.find('m', at);
    return end == std::string_view::npos ? piece{text.size() - at, 0} : piece{end + 1 - at, 0};
  }
  if (lead < 0x80) return {1, 1};
  const std::size_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (at + bytes > text.size()) return {1, 1};
  wchar_t c = static_cast<wchar_t>(lead & (0x7F >> bytes));
  for (std::size_t i = 1; i < bytes; ++i) c = static_cast<wchar_t>((c << 6) | (byte(at + i) & 0x3F));
  const int columns = wcwidth(c);
  return {bytes, columns < 0 ? 1u : static_cast<std::size_t>(columns)};
}

// The longest beginning of at most `most` columns: its bytes.
std::size_t bytes_within(std::string_view text, std::size_t most) {
  std::size_t at = 0, columns = 0;
  while (at < text.size()) {
    const piece next = piece_at(text, at);
    if (columns + next.columns > most) break;
    columns += next.columns;
    at += next.bytes;
  }
  return at;
}

std::size_t measure(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const piece next = piece_at(text, at);
    columns += next.columns;
    at += next.bytes;
  }
  return columns;
}

}  // namespace

std::string safe(std::string_view name) {
  const std::string quoted = digd::quoted(name);
  return quoted.substr(1, quoted.size() - 2);
}

std::size_t width_of(std::string_view text) {
  const unicode_locale unicode;
  return measure(text);
}

std::string fit(std::string_view text, std::size_t most) {
  const unicode_locale unicode;
  if (measure(text) <= most) return std::string(text);
  if (most == 0) return {};
  return std::string(text.substr(0, bytes_within(text, most - 1))) + "…";
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out = fit(text, width);
  const std::size_t is = width_of(out);
  if (is < width) out.append(width - is, ' ');
  return out;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  const unicode_locale unicode;
  if (width == 0) width = 1;
  std::vector<std::string> lines;
  while (measure(text) > width) {
    std::size_t end = bytes_within(text, width);
    if (end == 0) end = piece_at(text, 0).bytes;
    std::size_t next = end;
    const std::size_t space = text.substr(0, end + 1).rfind(' ');
    if (space != std::string_view::npos && space > 0) {
      end = space;
      next = space + 1;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(next);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

}  // namespace digd::picture
