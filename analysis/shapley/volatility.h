// The risk of econagent and twinmarket: EWMA of squared errors of the naive inflation forecast (eq. 26-27).
//   π_t = ln P_t - ln P_{t-1},  e_t = π_t - π_{t-1},  h_3 = e_3²,  h_t = λ h_{t-1} + (1-λ) e_{t-1}²,  λ = 0.94
// P_1 is the price after step 1. h_T depends on P_1 … P_{T-1} only, so the actions of step T are null players.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace digd::shapley {

inline constexpr double decay = 0.94;
inline constexpr std::size_t min_steps = 4;  // with fewer steps h_T is not defined

// h by step: price[t] is P_{t+1}, h[t] is h_{t+1}; 0 for the first two steps.
inline std::vector<double> volatility_curve(std::span<const double> price) {
  std::vector<double> h(price.size(), 0.0);
  double before = 0, error = 0;  // π_{t-1}, e_{t-1}
  for (std::size_t t = 1; t < price.size(); ++t) {
    const double pi = std::log(price[t] / price[t - 1]);
    const double e = pi - before;
    if (t == 2) h[t] = e * e;
    if (t > 2) h[t] = decay * h[t - 1] + (1 - decay) * error * error;
    before = pi;
    error = e;
  }
  return h;
}

}  // namespace digd::shapley
