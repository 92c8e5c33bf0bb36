// Trims, cuts and encodes texts. Pure functions; any thread. A returned view is a part of its argument.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace digd {

// Without spaces, tabs and line ends at both ends.
std::string_view trimmed(std::string_view text);

// ASCII letters in lower case; other bytes stay.
std::string lower(std::string_view text);

// Whether the byte continues a character of UTF-8 that began before it.
constexpr bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The longest prefix of at most `max_bytes` bytes that ends between two characters of UTF-8.
std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes);

// For a part of a URL (RFC 3986, section 2): all bytes but letters, digits and "-._~" become "%XX".
std::string percent_encoded(std::string_view text);

}  // namespace digd
