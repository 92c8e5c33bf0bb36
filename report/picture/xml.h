// Text that agents chose, safe inside XML: content and attribute values alike.
#pragma once

#include <string>
#include <string_view>

namespace digd::picture {

// Escapes & < > " '. Characters that XML 1.0 cannot hold, that reorder text, and bytes that are no UTF-8 become U+FFFD;
// line ends and tabs a space.
std::string xml(std::string_view text);

}  // namespace digd::picture
