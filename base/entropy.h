// Random numbers from the system, different at each call and on each machine: for keys, tokens, seeds and names.
// Numbers that repeat with a seed are in base/random.h.
//
// All come from the kernel's cryptographic generator (getrandom(2)). The first call after the machine started waits
// until the kernel has seeded it.
// Thread: any. Failure: `random_bytes` returns false if the kernel has no random source, the others throw a
// `std::exception`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace digd {

// After a failure, the content of `into` is undefined.
[[nodiscard]] bool random_bytes(std::span<unsigned char> into);

std::uint64_t random_seed();

// `digits` hexadecimal digits, 4 bits each.
std::string random_hex(std::size_t digits);

}  // namespace digd
