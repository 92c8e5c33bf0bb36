#include "analysis/shapley/metrics.h"

#include <algorithm>
#include <cmath>

#include "analysis/shapley/sum.h"

namespace digd::shapley {

std::vector<double> by_step(const cast& players, std::span<const double> phi) {
  std::vector<double> out(players.steps, 0.0);
  for (std::size_t p = 0; p < phi.size(); ++p) out[players.step[p]] += phi[p];
  return out;
}

std::vector<double> by_agent(const cast& players, std::span<const double> phi) {
  std::vector<double> out(players.agent_names.size(), 0.0);
  for (std::size_t p = 0; p < phi.size(); ++p) out[players.agent[p]] += phi[p];
  return out;
}

std::vector<double> by_behaviour(const cast& players, std::span<const double> phi) {
  std::vector<double> out(players.behaviour_names.size(), 0.0);
  for (std::size_t p = 0; p < phi.size(); ++p) {
    const std::uint32_t from = players.behaviour_begin[p], to = players.behaviour_begin[p + 1];
    for (std::uint32_t b = from; b < to; ++b) out[players.behaviours[b]] += phi[p] / (to - from);
  }
  return out;
}

// With |x| sorted ascending, Σ_i Σ_j ||x_i| - |x_j|| = 2 Σ_k (2k - n + 1) |x|_(k), k from 0.
double gini(std::span<const double> x) {
  std::vector<double> size(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) size[i] = std::abs(x[i]);
  std::sort(size.begin(), size.end());
  const double n = static_cast<double>(size.size());
  exact_sum spread, total_size;
  for (std::size_t k = 0; k < size.size(); ++k) {
    spread.add((2.0 * static_cast<double>(k) - n + 1) * size[k]);
    total_size.add(size[k]);
  }
  return total_size.value() > 0 ? spread.value() / (n * total_size.value()) : 0;
}

double pearson(std::span<const double> x, std::span<const double> y) {
  const double n = static_cast<double>(x.size());
  if (x.empty()) return 0;
  const double mean_x = sum_of(x) / n, mean_y = sum_of(y) / n;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  const double scale = std::sqrt(xx) * std::sqrt(yy);
  return scale > 0 ? std::clamp(xy / scale, -1.0, 1.0) : 0;
}

namespace {

std::vector<double> without_rounding(std::span<const double> phi, double largest_risk) {
  double largest = largest_risk;
  for (const double x : phi) largest = std::max(largest, std::abs(x));
  std::vector<double> out(phi.begin(), phi.end());
  for (double& x : out) {
    if (std::abs(x) <= rounding_share * largest) x = 0;
  }
  return out;
}

}  // namespace

metrics measure(const cast& players, std::span<const double> estimated, double threshold, double q,
                double largest_risk) {
  metrics out;
  const std::vector<double> phi = without_rounding(estimated, largest_risk);
  const std::size_t agents = players.agent_names.size();
  const std::vector<double> step = by_step(players, phi), agent = by_agent(players, phi);

  exact_sum running;
  for (std::size_t t = 0; t < step.size() && !out.formed; ++t) {
    running.add(step[t]);
    if (running.value() > q * threshold) out.formed = t + 1;
  }
  const double steps = static_cast<double>(players.steps);
  if (out.formed) out.latency = (steps - static_cast<double>(*out.formed)) / steps;

  // By agent and step: the sum of its actions, 0 where it has none.
  std::vector<double> cell(agents * players.steps, 0.0);
  for (std::size_t p = 0; p < phi.size(); ++p) cell[players.agent[p] * players.steps + players.step[p]] += phi[p];
  out.instability.resize(agents);
  for (std::size_t i = 0; i < agents; ++i) {
    const double mean = agent[i] / steps;
    double squares = 0;
    for (std::size_t t = 0; t < players.steps; ++t)
      squares += (cell[i * players.steps + t] - mean) * (cell[i * players.steps + t] - mean);
    out.instability[i] = std::sqrt(squares / steps);
  }
  std::vector<double> size(agents);
  for (std::size_t i = 0; i < agents; ++i) size[i] = std::abs(agent[i]);
  out.agent_concentration = gini(agent);
  out.instability_correlation = pearson(size, out.instability);
  out.behaviour_concentration = gini(by_behaviour(players, phi));

  exact_sum order;
  for (std::size_t t = 0; t < players.steps; ++t) {
    double total = 0;
    for (std::size_t i = 0; i < agents; ++i) total += std::abs(cell[i * players.steps + t]);
    if (total > 0) order.add(std::abs(step[t]) / total);
  }
  out.synchronization = players.steps > 0 ? order.value() / steps : 0;
  return out;
}

metrics measure(const cast& players, const estimate_result& result, double threshold, double q) {
  metrics out = measure(players, result.phi.value, threshold, q, result.largest_risk());
  if (!result.adds_risk()) {
    out.formed.reset();
    out.latency = 0;
  }
  return out;
}

}  // namespace digd::shapley
