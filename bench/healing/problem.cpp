#include "bench/healing/problem.h"

#include <algorithm>
#include <cmath>

namespace digd::bench {

problem::problem(std::int64_t size, const draws& chance) : array_(static_cast<std::size_t>(size)) {
  random_stream s = chance.at(purpose::array);
  for (std::uint8_t& x : array_) x = static_cast<std::uint8_t>(s.below(parameters::values));
}

table problem::truth(range part) const {
  table counts{};
  for (std::int64_t i = part.begin; i < part.end; ++i) counts[array_[static_cast<std::size_t>(i)]] += 1;
  return counts;
}

solution problem::count(range part, const parameters& p, random_stream chance) const {
  solution s{.counts = truth(part), .counted = cover(part)};
  const auto m = static_cast<double>(part.size());
  const double relative = p.error_most * m / (m + p.error_half);
  for (double& c : s.counts) c = std::max(0.0, std::round(c * (1 + relative * chance.normal())));
  return s;
}

double problem::rmse(const table& answer) const {
  const table right = truth(whole());
  double sum = 0;
  for (std::size_t i = 0; i < right.size(); ++i) sum += (answer[i] - right[i]) * (answer[i] - right[i]);
  return std::sqrt(sum / static_cast<double>(right.size()));
}

}  // namespace digd::bench
