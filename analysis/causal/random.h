// The random numbers of this folder, drawn from splitmix64 (analysis/splitmix64.h).
//
// Ownership: an object belongs to one thread. Memory: constant. Failure: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/splitmix64.h"

namespace digd {

// Each use of a seed has a stream of its own, so that an additional draw in one place changes no draw in another.
class splitmix_stream {
 public:
  explicit splitmix_stream(std::uint64_t seed, std::uint64_t stream = 0)
      : source_(splitmix64::mix(seed + splitmix64::step) ^ splitmix64::mix(stream * 0xd1342543de82ef95ULL + 1)) {}

  std::uint64_t next() { return source_.next(); }

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
  splitmix64 source_;
};

}  // namespace digd
