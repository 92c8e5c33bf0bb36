// SplitMix64 (Steele, Lea, Flood 2014): small, and equal on every machine.
//
// Thread: one at a time. Bounds: one number. Failure: none; `below` needs n > 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace digd::whowhen {

class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t n) {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::size_t>((z ^ (z >> 31)) % n);
  }
  bool chance(std::size_t percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace digd::whowhen
