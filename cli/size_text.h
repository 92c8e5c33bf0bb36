// Sizes in bytes, for people.
#pragma once

#include <cstdint>
#include <string>

namespace digd::cli {

// 1234567 as "1.2 MB".
std::string size_text(std::uint64_t bytes);

}  // namespace digd::cli
