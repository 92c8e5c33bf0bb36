// A hash of names that others choose, with a key drawn at the start of the process: nobody can make names that collide.
//
// Never told or stored, and nothing that is told depends on it. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace digd {

std::uint64_t keyed_hash(std::string_view name);

}  // namespace digd
