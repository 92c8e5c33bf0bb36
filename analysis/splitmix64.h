// splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): small, and equal on
// every machine. For `digctl causal` (causal/random.h) and for the planted logs of `digctl eval` (whowhen/dice.h),
// whose figures would change with another generator. Everything else uses base/random.h
// (docs/decisions/0014-two-seeded-generators.md).
//
// Ownership: an object belongs to one thread. Memory: constant. Failure: none.
#pragma once

#include <cstdint>

namespace digd {

class splitmix64 {
 public:
  explicit splitmix64(std::uint64_t state) : state_(state) {}
  std::uint64_t next() { return mix(state_ += step); }

  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15ULL;
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

}  // namespace digd
