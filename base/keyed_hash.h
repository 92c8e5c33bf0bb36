// A hash of names that clients choose. Its key is drawn at process start, so that nobody can construct collisions.
//
// Hashes are neither sent nor stored, and no output depends on them. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace digd {

std::uint64_t keyed_hash(std::string_view name);

}  // namespace digd
