#include "analysis/causal/order_sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/causal/random.h"

namespace digd::causal {

namespace {

constexpr double no_score = -std::numeric_limits<double>::infinity();
constexpr double negligible = 25;  // e^-25 of the largest term

struct parent_set {
  std::uint32_t mask = 0;  // of candidates
  double score = 0;
};

// The candidates of one variable and the scores of their subsets, best first.
struct choices {
  variables from;
  std::vector<parent_set> sets;
  std::uint32_t required = 0;
};

class sampler {
 public:
  sampler(score_cache& score, const pdag& start, const sampler_options& options)
      : score_(score), options_(options), n_(score.size()), chance_(options.seed, 11), choices_(n_) {
    for (variable v = 0; v < n_; ++v) {
      choices_[v].from = candidates_of(v, start);
      enumerate(v);
    }
    order_ = topological_order(start);
    place_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) place_[order_[i]] = i;
  }

  std::vector<pdag> run() {
    std::vector<pdag> out;
    for (std::size_t sweep = 0; sweep < options_.burn_in + options_.sweeps; ++sweep) {
      for (std::size_t k = 0; k < n_; ++k) relocate(chance_.below(n_));
      if (sweep < options_.burn_in) continue;
      for (std::size_t d = 0; d < options_.draws_per_sweep; ++d) out.push_back(draw());
    }
    return out;
  }

 private:
  // Neighbours and Markov boundary in the start graph, then the best additions of a greedy search that ignores cycles.
  variables candidates_of(variable v, const pdag& start) {
    std::vector<double> rank(n_, no_score);
    for (variable u : markov_boundary(start, v)) rank[u] = 1e12;
    for (variable u : start.neighbours(v)) rank[u] = 1e15;
    for (const auto& [from, to] : options_.known.required) {
      if (to == v) rank[from] = 1e18;
    }
    variables chosen;
    double now = score_(v, chosen);
    for (std::size_t step = 0; step < options_.max_parents; ++step) {
      variable best = n_;
      double best_score = now;
      for (variable u = 0; u < n_; ++u) {
        if (u == v || options_.known.forbids(u, v) || std::find(chosen.begin(), chosen.end(), u) != chosen.end())
          continue;
        variables with = chosen;
        with.insert(std::lower_bound(with.begin(), with.end(), u), u);
        const double s = score_(v, with);
        rank[u] = std::max(rank[u], s - now);
        if (s > best_score) best = u, best_score = s;
      }
      if (best == n_) break;
      rank[best] = std::max(rank[best], 1e9);
      chosen.insert(std::lower_bound(chosen.begin(), chosen.end(), best), best);
      now = best_score;
    }
    variables order;
    for (variable u = 0; u < n_; ++u) {
      if (u != v && !options_.known.forbids(u, v)) order.push_back(u);
    }
    std::stable_sort(order.begin(), order.end(), [&](variable a, variable b) { return rank[a] > rank[b]; });
    if (order.size() > options_.candidates) order.resize(options_.candidates);
    std::sort(order.begin(), order.end());
    return order;
  }

  void enumerate(variable v) {
    choices& c = choices_[v];
    for (std::size_t k = 0; k < c.from.size(); ++k) {
      if (options_.known.requires_edge(c.from[k], v)) c.required |= 1u << k;
    }
    variables set;
    extend_set(v, 0, 0, set);
    std::stable_sort(c.sets.begin(), c.sets.end(),
                     [](const parent_set& a, const parent_set& b) { return a.score > b.score; });
  }

  void extend_set(variable v, std::size_t next, std::uint32_t mask, variables& set) {
    choices& c = choices_[v];
    if ((mask & c.required) == c.required) c.sets.push_back({mask, score_.source()(v, set)});
    if (set.size() >= std::max<std::size_t>(options_.max_parents, static_cast<std::size_t>(std::popcount(c.required))))
      return;
    for (std::size_t k = next; k < c.from.size(); ++k) {
      set.push_back(c.from[k]);
      extend_set(v, k + 1, mask | 1u << k, set);
      set.pop_back();
    }
  }

  std::uint32_t before(variable v) const {
    std::uint32_t mask = 0;
    const variables& from = choices_[v].from;
    for (std::size_t k = 0; k < from.size(); ++k) mask |= static_cast<std::uint32_t>(place_[from[k]] < place_[v]) << k;
    return mask;
  }

  // ln of the sum of exp(score) over the parent sets that the order allows.
  double weight(variable v) const {
    const std::uint32_t allowed = before(v);
    double top = no_score, sum = 0;
    for (const parent_set& s : choices_[v].sets) {
      if ((s.mask & ~allowed) != 0) continue;
      if (top == no_score) top = s.score;
      if (s.score < top - negligible) break;
      sum += std::exp(s.score - top);
    }
    return top == no_score ? -1e15 : top + std::log(sum);
  }

  void swap_places(std::size_t i) {
    std::swap(order_[i], order_[i + 1]);
    place_[order_[i]] = i;
    place_[order_[i + 1]] = i + 1;
  }

  // Gibbs: takes v out and puts it at a place drawn from the conditional distribution.
  void relocate(variable v) {
    while (place_[v] > 0) swap_places(place_[v] - 1);
    std::vector<double> log_weight(n_, 0.0);
    double sum = 0;
    double own = weight(v);
    for (std::size_t i = 0; i + 1 < n_; ++i) {
      const variable other = order_[i + 1];
      const double old = weight(other) + own;
      swap_places(i);
      own = weight(v);
      sum += weight(other) + own - old;
      log_weight[i + 1] = sum;
    }
    const double top = *std::max_element(log_weight.begin(), log_weight.end());
    double total = 0;
    for (double& w : log_weight) total += w = std::exp(w - top);
    double left = chance_.uniform() * total;
    std::size_t to = 0;
    while (to + 1 < n_ && left >= log_weight[to]) left -= log_weight[to++];
    while (place_[v] > to) swap_places(place_[v] - 1);
  }

  pdag draw() {
    pdag out(n_);
    for (variable v = 0; v < n_; ++v) {
      const std::uint32_t allowed = before(v);
      double left = std::log(chance_.uniform() + 1e-300) + weight(v);
      double sum = 0, top = no_score;
      std::uint32_t chosen = 0;
      for (const parent_set& s : choices_[v].sets) {
        if ((s.mask & ~allowed) != 0) continue;
        if (top == no_score) top = s.score;
        chosen = s.mask;
        sum += std::exp(s.score - top);
        if (top + std::log(sum) >= left || s.score < top - negligible) break;
      }
      for (std::size_t k = 0; k < choices_[v].from.size(); ++k) {
        if (chosen >> k & 1) out.direct(choices_[v].from[k], v);
      }
    }
    return out;
  }

  score_cache& score_;
  const sampler_options& options_;
  std::size_t n_;
  splitmix_stream chance_;
  std::vector<choices> choices_;
  variables order_;
  std::vector<std::size_t> place_;
};

}  // namespace

std::vector<pdag> sample_dags(score_cache& score, const pdag& start, const sampler_options& options) {
  if (score.size() < 2) return {};
  return sampler(score, start, options).run();
}

}  // namespace digd::causal
