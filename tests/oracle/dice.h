// A random generator without the standard library, so that a seed gives the same trace with every compiler.
#pragma once

#include <cstdint>
#include <vector>

namespace oracle {

// splitmix64 (Steele, Lea, Flood 2014).
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  // Returns 0 to n - 1, for n > 0. The bias of the modulo is too small to matter in tests.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }

  bool per_mille(unsigned of_1000) { return below(1000) < of_1000; }
  bool percent(unsigned of_100) { return below(100) < of_100; }

  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace oracle
