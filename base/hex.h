// Bytes as hexadecimal digits and back, in lower case. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace digd {

inline constexpr std::string_view hex_digits = "0123456789abcdef";

// Appends the two digits of a byte.
inline void append_hex(std::string& out, unsigned char byte) {
  out += hex_digits[byte >> 4];
  out += hex_digits[byte & 15];
}

std::string to_hex(std::string_view bytes);
std::string to_hex(const unsigned char* bytes, std::size_t size);

// The value of a digit in either case; -1 if `c` is not a digit.
int hex_value(char c);

// The bytes of lower-case digits; nothing if their number is odd, or another character occurs.
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace digd
