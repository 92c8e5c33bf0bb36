// Random numbers from the system, different at each call and on each machine: for keys, seeds and names.
// Numbers that repeat with a seed are in base/random.h.
//
// Thread: any. Failure: `std::exception` if the system has no random source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace digd {

std::uint64_t random_seed();

// `digits` hexadecimal digits, 4 bits each.
std::string random_hex(std::size_t digits);

}  // namespace digd
