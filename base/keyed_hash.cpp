#include "base/keyed_hash.h"

#include <cstring>

#include "base/entropy.h"

namespace digd {

namespace {

__extension__ using uint128 = unsigned __int128;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const uint128 product = static_cast<uint128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

const std::uint64_t key = random_seed();

}  // namespace

std::uint64_t keyed_hash(std::string_view name) {
  constexpr std::uint64_t multiplier = 0x9E3779B97F4A7C15u;  // odd, bits well spread: 2^64 over the golden ratio
  std::uint64_t state = mix(key ^ name.size(), multiplier);
  while (name.size() > 8) {
    std::uint64_t part = 0;
    std::memcpy(&part, name.data(), 8);
    state = mix(state ^ part, multiplier);
    name.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  if (!name.empty()) std::memcpy(&rest, name.data(), name.size());
  return mix(state ^ rest, multiplier ^ key);
}

}  // namespace digd
