#include "tests/analysis/shapley/literal.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace shapley_tests {

namespace {

// h_T of the prices P_1 … P_T.
double risk_of(const std::vector<double>& prices) {
  const int T = static_cast<int>(prices.size());
  std::map<int, double> P, pi, e, h;
  for (int t = 1; t <= T; ++t) P[t] = prices[static_cast<std::size_t>(t - 1)];
  for (int t = 2; t <= T; ++t) pi[t] = std::log(P[t]) - std::log(P[t - 1]);
  e[2] = pi[2];
  for (int t = 3; t <= T; ++t) e[t] = pi[t] - pi[t - 1];
  h[3] = e[3] * e[3];
  for (int t = 4; t <= T; ++t) h[t] = 0.94 * h[t - 1] + 0.06 * e[t - 1] * e[t - 1];
  return h[T];
}

double yearly_tax(double income) {
  const double bounds[] = {0, 9700, 39475, 84200, 160725, 204100, 510300, 1e300};
  const double rates[] = {.10, .12, .22, .24, .32, .35, .37};
  double tax = 0;
  for (int k = 0; k < 7; ++k) {
    if (income > bounds[k]) tax += rates[k] * (std::min(income, bounds[k + 1]) - bounds[k]);
  }
  return tax;
}

}  // namespace

double literal_econ(const digd::shapley::econ_trajectory& t, const std::vector<std::vector<bool>>& kept) {
  const std::size_t N = t.agents;
  std::vector<double> coin(N, 0.0), skill = t.skill, prices;
  double price = std::accumulate(skill.begin(), skill.end(), 0.0) / static_cast<double>(N);
  double interest = 0.03, products = 0;
  for (std::size_t s = 0; s < t.steps; ++s) {
    double workers = 0, collected = 0;
    for (std::size_t i = 0; i < N; ++i) {
      const bool works = kept[i][s] ? t.works[s * N + i] == 1 : true;
      const double income = works ? 168 * skill[i] : 0;
      if (works) workers += 1;
      coin[i] += income;
      const double pays = std::min(coin[i], yearly_tax(12 * income) / 12);
      coin[i] -= pays;
      collected += pays;
    }
    products += 168 * workers;
    for (double& c : coin) c += collected / static_cast<double>(N);
    const double supply = products;
    double demand = 0;
    for (std::size_t k = 0; k < N; ++k) {
      const std::size_t i = t.order[s * N + k];
      const double rate = kept[i][s] ? 0.02 * t.rate[s * N + i] : 0.8;
      double c = coin[i] * rate;
      const double d = c / price;
      demand += d;
      if (products < d) {
        c = products * price;
        products = 0;
      } else {
        products -= d;
      }
      coin[i] -= c;
    }
    const double larger = std::max(demand, supply);
    const double r = larger > 0 ? (demand - supply) / larger : 0;
    const double before = price;
    for (std::size_t i = 0; i < N; ++i) skill[i] = std::max(1.0, skill[i] * (1 + 0.05 * r * t.skill_draw[s * N + i]));
    price = std::max(1.0, price * (1 + 0.1 * r * t.price_draw[s]));
    prices.push_back(price);
    if (s >= 1) {
      const double inflation = (price - before) / before;
      const double unemployment = 1 - workers / static_cast<double>(N);
      interest = std::max(0.0, 0.03 + 0.5 * (inflation - 0.02) + 0.5 * (0.04 - unemployment));
    }
    for (double& c : coin) c *= 1 + interest;
  }
  return risk_of(prices);
}

double literal_twin(const digd::shapley::twin_trajectory& t, const std::vector<std::vector<bool>>& kept) {
  const std::vector<double> weight{2.182, 8.946, 6.491, 3.137, .969, .894, 18.245, 12.963, 13.16, 33.014};
  std::vector<double> last(t.first_cents.begin(), t.first_cents.end()), prices;
  for (std::size_t day = 0; day < t.steps; ++day) {
    std::vector<bool> ordered(10), traded(10);
    for (std::size_t stock = 0; stock < 10; ++stock) {
      std::vector<std::pair<int, double>> bids, offers;  // price, volume
      for (const auto& o : t.orders) {
        if (o.day != day || o.stock != stock || !kept[o.user][day]) continue;
        (o.sell ? offers : bids).emplace_back(o.cents, o.lots);
      }
      ordered[stock] = !bids.empty() || !offers.empty();
      if (bids.empty() || offers.empty()) continue;
      const auto volume = [](const auto& side) {
        double sum = 0;
        for (const auto& [p, v] : side) sum += v;
        return sum;
      };
      auto& small = volume(bids) < volume(offers) ? bids : offers;
      const double ratio = std::max(volume(bids), volume(offers)) / std::min(volume(bids), volume(offers));
      if (ratio >= 2.5) {
        const auto once = small;
        for (int k = 0; k < std::min(static_cast<int>(std::floor(ratio)) - 1, 3); ++k)
          small.insert(small.end(), once.begin(), once.end());
      }
      std::vector<int> limits;
      for (const auto& [p, v] : bids) limits.push_back(p);
      for (const auto& [p, v] : offers) limits.push_back(p);
      std::sort(limits.begin(), limits.end());
      double best = 0;
      for (const int p : limits) {
        double demand = 0, supply = 0;
        for (const auto& [q, v] : bids) demand += q >= p ? v : 0;
        for (const auto& [q, v] : offers) supply += q <= p ? v : 0;
        if (std::min(demand, supply) > best) {
          best = std::min(demand, supply);
          last[stock] = p;
          traded[stock] = true;
        }
      }
    }
    const auto mean_over = [&](auto counts) {
      double sum = 0, weights = 0;
      for (std::size_t s = 0; s < 10; ++s) {
        if (counts(s)) sum += weight[s] * last[s], weights += weight[s];
      }
      return sum / weights;
    };
    if (std::count(traded.begin(), traded.end(), true) > 0) {
      prices.push_back(mean_over([&](std::size_t s) { return traded[s]; }));
    } else if (std::count(ordered.begin(), ordered.end(), true) > 0) {
      prices.push_back(mean_over([&](std::size_t s) { return ordered[s]; }));
    } else {
      prices.push_back(mean_over([](std::size_t) { return true; }));
    }
  }
  return risk_of(prices);
}

double literal_social(const digd::shapley::social_trajectory& t, const std::vector<std::vector<bool>>& kept) {
  using digd::shapley::reacts;
  const std::size_t N = t.agents;
  std::vector<double> b = t.belief;
  const auto clamp = [](double x) { return std::max(-1.0, std::min(1.0, x)); };
  for (std::size_t s = 0; s < t.steps; ++s) {
    std::vector<double> V(N, 0), L(N, 0), D(N, 0);
    for (std::size_t i = 0; i < N; ++i) {
      for (std::uint32_t k = t.view_begin[s * N + i]; k < t.view_begin[s * N + i + 1]; ++k) {
        const auto& view = t.views[k];
        if (!kept[i][s] || !kept[view.author][s]) continue;
        V[view.author] += 1;
        const double p = t.post_belief[s * N + view.author];
        const double size = 0.1 * 0.5 * (1 - 0.5 * std::abs(b[i])) * std::abs(p - b[i]);
        const double towards = p > b[i] ? size : -size;
        if (view.reacts == reacts::like) {
          L[view.author] += 1;
          b[i] = clamp(b[i] + towards);
        } else if (view.reacts == reacts::dislike) {
          D[view.author] += 1;
          b[i] = clamp(b[i] - towards);
        }
      }
    }
    for (std::size_t i = 0; i < N; ++i) {
      if (V[i] > 0) b[i] = clamp(b[i] * (1 + 0.5 * (L[i] - D[i]) / V[i]));
    }
  }
  const double mean = std::accumulate(b.begin(), b.end(), 0.0) / static_cast<double>(N);
  double variance = 0;
  for (const double x : b) variance += (x - mean) * (x - mean) / static_cast<double>(N);
  return variance;
}

}  // namespace shapley_tests
