// Escapes text for XML, as content or as an attribute value.
#pragma once

#include <string>
#include <string_view>

namespace digd::picture {

// Escapes & < > " '. Characters that XML 1.0 forbids or that reorder text, and bytes that are not UTF-8, become U+FFFD.
// Line ends and tabs become spaces.
std::string xml(std::string_view text);

}  // namespace digd::picture
