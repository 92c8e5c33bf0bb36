// A histogram of durations in buckets of at most 1.6% of their value, like HdrHistogram: percentiles of millions of
// samples in constant memory. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace digd::bench {

class histogram {
 public:
  void add(std::uint64_t ns) {
    ++buckets_[index_of(ns)];
    ++count_;
    max_ = std::max(max_, ns);
  }

  void add(const histogram& other) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
  }

  // The value that `share` (0 … 1) of the samples do not exceed; 0 without samples.
  std::uint64_t at(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_) + 0.5);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= std::max<std::uint64_t>(wanted, 1) && seen > 0) return std::min(top_of(i), max_);
    }
    return max_;
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t max() const { return max_; }

 private:
  static constexpr unsigned fine_bits = 6;  // 64 buckets for each doubling
  static constexpr std::uint64_t fine = 1u << fine_bits;

  static std::size_t index_of(std::uint64_t v) {
    if (v < fine) return v;
    const unsigned shift = static_cast<unsigned>(std::bit_width(v)) - fine_bits - 1;
    return fine * shift + (v >> shift);
  }
  static std::uint64_t top_of(std::size_t i) {
    if (i < 2 * fine) return i;
    const std::uint64_t shift = i / fine - 1;
    return ((fine + i % fine + 1) << shift) - 1;
  }

  std::array<std::uint64_t, fine * 60> buckets_{};
  std::uint64_t count_ = 0, max_ = 0;
};

}  // namespace digd::bench
