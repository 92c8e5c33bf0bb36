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

template <class Word>
std::uint64_t bytes_at(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// At most eight bytes as a number. Different texts of the same length give different numbers. Texts of four bytes or
// more are read in two parts, which may overlap: copying a variable number of bytes would be a function call.
std::uint64_t last_bytes(std::string_view text) {
  const std::size_t size = text.size();
  if (size >= 4) return bytes_at<std::uint32_t>(text.data()) | bytes_at<std::uint32_t>(text.data() + size - 4) << 32;
  if (size == 0) return 0;
  const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(text[i])}; };
  return byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
}

}  // namespace

std::uint64_t keyed_hash(std::string_view name) {
  constexpr std::uint64_t multiplier = 0x9E3779B97F4A7C15u;  // odd, bits well spread: 2^64 over the golden ratio
  std::uint64_t state = mix(key ^ name.size(), multiplier);
  while (name.size() > 8) {
    state = mix(state ^ bytes_at<std::uint64_t>(name.data()), multiplier);
    name.remove_prefix(8);
  }
  return mix(state ^ last_bytes(name), multiplier ^ key);
}

}  // namespace digd
