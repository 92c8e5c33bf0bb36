// 95 % confidence intervals for the comparison of two groups of runs. Pure functions.
//
//   a share                   Wilson (1927): the score interval, without continuity correction
//   a difference of shares    Newcombe (1998), "Interval estimation for the difference between independent
//                             proportions", method 10: from the two Wilson intervals
//   a mean                    Student's t
//   a difference of means     Welch (1947): unequal variances, degrees of freedom after Satterthwaite
//
// Thread: any for the functions, one at a time for a `sample`, which keeps three numbers.
#pragma once

#include <cstdint>
#include <optional>

namespace digd::stored {

struct interval {
  double value = 0, low = 0, high = 0;
};

struct share {
  std::uint64_t hits = 0, of = 0;
};

// Running mean and variance (Welford 1962).
class sample {
 public:
  void add(double x);
  std::uint64_t size() const { return n_; }
  double mean() const { return mean_; }
  double variance() const { return n_ < 2 ? 0 : squares_ / static_cast<double>(n_ - 1); }

 private:
  std::uint64_t n_ = 0;
  double mean_ = 0, squares_ = 0;
};

// nullopt: no observation.
std::optional<interval> wilson(const share& a);
// a minus b. nullopt: either has no observation.
std::optional<interval> newcombe(const share& a, const share& b);
// nullopt: fewer than two observations (in either).
std::optional<interval> mean_interval(const sample& a);
std::optional<interval> welch(const sample& a, const sample& b);

}  // namespace digd::stored
