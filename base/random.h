// Random numbers that are the same on every machine: same seed, same numbers. Philox4x32-10, counter-based (Salmon,
// Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//
// Not fit for secrets. Ownership: an object belongs to one thread. Memory: constant. Failure: none.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace digd {

// A stream is a pure function of (seed, purpose, index): sampling unit 17 draws the same numbers on whichever thread,
// in whatever order, and however many other units were drawn. Nothing is ever reseeded, so a simulator that draws
// numbers of its own cannot make permutations repeat (docs/shapley.md, "Traps").
class random_stream {
 public:
  // `purpose` is a value of the caller's own enum, so that no two uses of one seed share a stream. Callers that share a
  // seed use different numbers for their purposes.
  template <class purpose_enum>
    requires std::is_enum_v<purpose_enum>
  random_stream(std::uint64_t seed, purpose_enum purpose, std::uint64_t index)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        counter_{0, static_cast<std::uint32_t>(purpose), static_cast<std::uint32_t>(index),
                 static_cast<std::uint32_t>(index >> 32)} {}

  std::uint32_t next32() {
    if (used_ == block_.size()) refill();
    return block_[used_++];
  }
  std::uint64_t next64() {
    const std::uint64_t high = next32();
    return high << 32 | next32();
  }
  // Uniform on [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next64() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  bool chance(double p) { return uniform() < p; }
  // Uniform on 0 … n − 1, n > 0; exact, by rejection (Lemire, "Fast random integer generation in an interval", 2019).
  std::uint32_t below(std::uint32_t n) {
    std::uint64_t product = static_cast<std::uint64_t>(next32()) * n;
    if (static_cast<std::uint32_t>(product) < n) {
      const std::uint32_t threshold = (0u - n) % n;
      while (static_cast<std::uint32_t>(product) < threshold) product = static_cast<std::uint64_t>(next32()) * n;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }
  // Standard normal, by Box and Muller. The second value of the pair is dropped, so that every call draws the same
  // number of values.
  double normal() {
    const double u = 1.0 - uniform();
    const double v = uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
  }
  // Fisher and Yates: every order is equally likely.
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t left = values.size(); left > 1; --left) {
      std::swap(values[left - 1], values[below(static_cast<std::uint32_t>(left))]);
    }
  }

 private:
  void refill() {
    std::array<std::uint32_t, 4> x = counter_;
    std::uint32_t k0 = key_[0], k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53u} * x[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * x[2];
      x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<std::uint32_t>(a)};
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    block_ = x;
    used_ = 0;
    ++counter_[0];
  }

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
};

}  // namespace digd
