// The random choices of planted logs, drawn from splitmix64 (analysis/splitmix64.h). `below` has a bias that is below
// n / 2^64.
//
// Thread: one at a time. Bounds: one number. Failure: none; `below` needs n > 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analysis/splitmix64.h"

namespace digd::whowhen {

class dice {
 public:
  explicit dice(std::uint64_t seed) : source_(seed) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(source_.next() % n); }
  bool chance(std::size_t percent) { return below(100) < percent; }

 private:
  splitmix64 source_;
};

}  // namespace digd::whowhen
