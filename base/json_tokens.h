// Finds tokens in the text of valid JSON without decoding it. In other text, the returned positions mean nothing, but
// they never pass its end. Pure functions; any thread; no recursion.
#pragma once

#include <cstddef>
#include <string_view>

namespace digd {

// The position of the next character that is not white space.
std::size_t skip_json_space(std::string_view json, std::size_t at);

// The position after the string, with its quotes, that begins at `at`.
std::size_t end_of_string(std::string_view json, std::size_t at);

// The position after the value that begins at `at`. After a number, true, false or null, white space may come before
// that position.
std::size_t end_of_value(std::string_view json, std::size_t at);

// Whether a string is `word`, which has only ASCII letters. The string has quotes and may have escapes: "t\u0073".
bool string_is(std::string_view token, std::string_view word);

}  // namespace digd
