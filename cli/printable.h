// Makes foreign text harmless for a terminal: it cannot move the cursor, change colours or hide itself.
#pragma once

#include <string>
#include <string_view>

namespace digd::cli {

// Puts the text on one line and escapes control characters as \uXXXX; quotes and backslashes stay. For sentences of
// the daemon, which already quote names that agents chose, and for JSON, whose meaning does not change.
std::string printable(std::string_view text);

// The same for each line; line ends stay.
std::string printable_lines(std::string_view text);

}  // namespace digd::cli
