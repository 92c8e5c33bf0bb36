#include "base/hex.h"

namespace digd {

std::string to_hex(const unsigned char* bytes, std::size_t size) {
  std::string out;
  out.reserve(2 * size);
  for (std::size_t i = 0; i < size; ++i) append_hex(out, bytes[i]);
  return out;
}

std::string to_hex(std::string_view bytes) {
  return to_hex(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0 || digits.find_first_not_of(hex_digits) != std::string_view::npos) return std::nullopt;
  std::string out;
  out.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2)
    out += static_cast<char>(hex_value(digits[i]) << 4 | hex_value(digits[i + 1]));
  return out;
}

}  // namespace digd
