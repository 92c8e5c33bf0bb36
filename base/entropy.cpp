#include "base/entropy.h"

#include <random>

#include "base/hex.h"

namespace digd {

std::uint64_t random_seed() {
  std::random_device source;
  const std::uint64_t high = source();
  return high << 32 | source();
}

std::string random_hex(std::size_t digits) {
  std::random_device source;
  std::string out;
  for (std::size_t i = 0; i < digits; ++i) out += hex_digits[source() & 15];
  return out;
}

}  // namespace digd
