// The random numbers of this folder: splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014). Most of the project uses base/random.h (docs/decisions/0014-two-seeded-generators.md). That generator
// would change every figure that docs/causal.md prints and every answer of `digctl causal` for a given seed.
//
// Ownership: an object belongs to one thread. Memory: constant. Failure: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace digd {

// Each use of a seed names its stream, so that one more draw in one place changes nothing in another.
class splitmix_stream {
 public:
  explicit splitmix_stream(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mix(seed + 0x9e3779b97f4a7c15ULL) ^ mix(stream * 0xd1342543de82ef95ULL + 1)) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ULL); }

  // Uniform on [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // Uniform on 0 … bound − 1; `bound` is at least 1. The bias is below bound / 2^64.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>((static_cast<wide>(next()) * bound) >> 64); }

  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  __extension__ using wide = unsigned __int128;
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace digd
