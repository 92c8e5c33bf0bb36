// Text from elsewhere, made harmless for a terminal: nothing in it moves the cursor, changes colours or hides itself.
#pragma once

#include <string>
#include <string_view>

namespace digd::cli {

// On one line, with what could act on a terminal escaped as \uXXXX; quotes and backslashes stay as they are. For
// sentences of the daemon's, in which names that agents chose stand quoted already; and for JSON, which means the same
// afterwards.
std::string printable(std::string_view text);

// The same line by line, each with its end.
std::string printable_lines(std::string_view text);

}  // namespace digd::cli
