#include "report/stored_runs/intervals.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace digd::stored {

namespace {

constexpr double z = 1.959963984540054;  // of the normal distribution, 97.5 %
constexpr double upper = 0.975;

double t_quantile(double degrees) {
  return boost::math::quantile(boost::math::students_t_distribution<double>(degrees), upper);
}

interval around(double value, double half) { return {value, value - half, value + half}; }

}  // namespace

void sample::add(double x) {
  ++n_;
  const double before = x - mean_;
  mean_ += before / static_cast<double>(n_);
  squares_ += before * (x - mean_);
}

std::optional<interval> wilson(const share& a) {
  if (a.of == 0) return std::nullopt;
  const double n = static_cast<double>(a.of), p = static_cast<double>(a.hits) / n;
  const double center = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n);
  // Rounding must not exclude the share itself.
  return interval{p, std::clamp(center - half, 0.0, p), std::clamp(center + half, p, 1.0)};
}

std::optional<interval> newcombe(const share& a, const share& b) {
  const auto first = wilson(a), second = wilson(b);
  if (!first || !second) return std::nullopt;
  const double difference = first->value - second->value;
  const double below = std::hypot(first->value - first->low, second->high - second->value);
  const double above = std::hypot(first->high - first->value, second->value - second->low);
  return interval{difference, std::max(difference - below, -1.0), std::min(difference + above, 1.0)};
}

std::optional<interval> mean_interval(const sample& a) {
  if (a.size() < 2) return std::nullopt;
  const double n = static_cast<double>(a.size());
  return around(a.mean(), t_quantile(n - 1) * std::sqrt(a.variance() / n));
}

std::optional<interval> welch(const sample& a, const sample& b) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const double n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const double of_a = a.variance() / n, of_b = b.variance() / m;
  const double difference = a.mean() - b.mean();
  if (!(of_a + of_b > 0)) return around(difference, 0);
  const double degrees = (of_a + of_b) * (of_a + of_b) / (of_a * of_a / (n - 1) + of_b * of_b / (m - 1));
  return around(difference, t_quantile(degrees) * std::sqrt(of_a + of_b));
}

}  // namespace digd::stored
