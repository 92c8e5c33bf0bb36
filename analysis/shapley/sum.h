// Neumaier's compensated summation (Neumaier 1974): small terms are not lost.
//
// Thread: one at a time. Bounds: two numbers.
#pragma once

#include <cmath>
#include <span>

namespace digd::shapley {

class exact_sum {
 public:
  void add(double x) {
    const double t = sum_ + x;
    lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - t) + x : (x - t) + sum_;
    sum_ = t;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

inline double sum_of(std::span<const double> values) {
  exact_sum s;
  for (const double x : values) s.add(x);
  return s.value();
}

}  // namespace digd::shapley
