// A 128-bit digest of a game's content and of the request, for the cache and for reports.
//
// Two independent 64-bit chains of the SplitMix64 finaliser. Not cryptographic: it distinguishes honest inputs only.
// Thread: one at a time. Bounds: two words, whatever is added.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace digd::shapley {

class digest {
 public:
  void add(std::uint64_t word) {
    a_ = mix(a_ ^ word) + 0x9E3779B97F4A7C15u;
    b_ = mix(b_ + std::rotl(word, 29)) ^ 0xD1B54A32D192ED03u;
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    add_bytes(text.data(), text.size());
  }
  // For types without padding.
  template <class T>
  void add(std::span<const T> items) {
    add(static_cast<std::uint64_t>(items.size()));
    add_bytes(items.data(), items.size_bytes());
  }

  std::string hex() const {
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(mix(a_)),
                  static_cast<unsigned long long>(mix(b_)));
    return text;
  }

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  void add_bytes(const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    for (; size >= 8; at += 8, size -= 8) {
      std::uint64_t word;
      std::memcpy(&word, at, 8);
      add(word);
    }
    if (size == 0) return;
    std::uint64_t word = 0;
    std::memcpy(&word, at, size);
    add(word);
  }

  std::uint64_t a_ = 0x243F6A8885A308D3u;
  std::uint64_t b_ = 0x13198A2E03707344u;
};

}  // namespace digd::shapley
