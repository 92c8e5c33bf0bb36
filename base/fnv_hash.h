// FNV-1a with 64 bits (Fowler, Noll and Vo): a short fingerprint of a text, the same on all machines and in all
// versions.
//
// Pure functions; any thread. A client that chooses the texts can construct collisions. For tables of clients' names,
// use keyed_hash.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hex.h"

namespace digd {

constexpr std::uint64_t fnv_hash(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

// As 16 hexadecimal digits.
inline std::string fnv_digits(std::string_view text) {
  std::string out(16, '0');
  std::uint64_t hash = fnv_hash(text);
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit, hash >>= 4) *digit = hex_digits[hash & 15];
  return out;
}

}  // namespace digd
