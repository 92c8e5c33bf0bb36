// Estimates from independent sampling units: permutations, pairs of a permutation and its reverse, Owen sweeps.
//
// Each unit yields one vector of marginal contributions with expectation φ. The result is the mean over units, with its
// standard error.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/shapley/estimator_parts.h"
#include "analysis/shapley/purposes.h"

namespace digd::shapley {

namespace {

struct sampling_part {
  moments seen;
  std::uint64_t evaluations = 0;

  template <class To>
  void each_number(To& to) {
    to(seen.count);
    to(seen.mean);
    to(seen.squares);
    to(evaluations);
  }
};

class sampler {
 public:
  sampler(const game& game, const estimate_options& options, double baseline)
      : game_(game), options_(options), baseline_(baseline), active_(active_players(game.players())) {}

  std::size_t active() const { return active_.size(); }
  // The cost of a unit, in permutations.
  std::uint64_t weight() const { return options_.estimator == estimator::permutation ? 1 : 2; }

  // Computes unit `index` into `x`, which has the layout of `tally`.
  bool unit(evaluator& ask, std::uint64_t index, std::vector<double>& x, std::uint64_t& evaluations) {
    std::fill(x.begin(), x.end(), 0.0);
    if (options_.estimator == estimator::owen) return owen(ask, index, x, evaluations);
    order_ = active_;
    random_stream draw(options_.seed, purpose::permutation, index);
    draw.shuffle(std::span(order_));
    const double share = 1.0 / static_cast<double>(weight());
    if (!permutation(ask, share, x, evaluations)) return false;
    if (options_.estimator == estimator::permutation) return true;
    std::reverse(order_.begin(), order_.end());
    return permutation(ask, share, x, evaluations);
  }

 private:
  // Algorithm 1, lines 3-13, for the permutation in `order_`.
  bool permutation(evaluator& ask, double share, std::vector<double>& x, std::uint64_t& evaluations) {
    start_.assign(game_.size(), 0);
    values_.resize(order_.size());
    if (!ask.walk(start_, order_, values_.data())) return false;
    double before = baseline_;
    for (std::size_t k = 0; k < order_.size(); ++k) {
      x[order_[k]] += share * (values_[k] - before);
      before = values_[k];
    }
    evaluations += order_.size();
    return true;
  }

  // φ_i = ∫ E[v(S_q ∪ i) - v(S_q \ i)] dq (Owen, "Multilinear extensions of games", 1972). The golden ratio spreads the
  // densities q of the units; each set comes with its complement, whose density is 1 - q.
  bool owen(evaluator& ask, std::uint64_t index, std::vector<double>& x, std::uint64_t& evaluations) {
    const double shift = random_stream(options_.seed, purpose::owen, ~std::uint64_t{0}).uniform();
    double whole;
    const double q = std::modf(shift + static_cast<double>(index) * 0.6180339887498949, &whole);
    random_stream draw(options_.seed, purpose::owen, index);
    start_.assign(game_.size(), 0);
    for (const player_index p : active_) start_[p] = draw.uniform() < q ? 1 : 0;
    for (int side = 0; side < 2; ++side) {
      double here;
      if (!value_of(ask, start_, here)) return false;
      values_.resize(active_.size());
      if (!ask.flips(start_, active_, values_.data())) return false;
      for (std::size_t k = 0; k < active_.size(); ++k) {
        const player_index p = active_[k];
        x[p] += 0.5 * (start_[p] ? here - values_[k] : values_[k] - here);
      }
      evaluations += active_.size() + 1;
      for (const player_index p : active_) start_[p] ^= 1;
    }
    return true;
  }

  const game& game_;
  const estimate_options& options_;
  const double baseline_;
  const std::vector<player_index> active_;
  std::vector<player_index> order_;
  std::vector<std::uint8_t> start_;
  std::vector<double> values_;
};

}  // namespace

void estimate_by_sampling(const game& game, const estimate_options& options, estimate_result& result) {
  const tally sums(game.players());
  const sampler like(game, options, result.baseline);
  const std::uint64_t weight = like.weight();
  const std::uint64_t units = std::max<std::uint64_t>(1, (options.samples + weight - 1) / weight);
  // The chunk size depends on the task alone, so that results do not depend on threads.
  const std::uint64_t max_chunk = game.slow() ? 1 : 1 + 20'000 / std::max<std::size_t>(1, like.active());
  const std::uint64_t chunk_units = std::clamp<std::uint64_t>(units / 64, 1, max_chunk);
  const std::size_t chunks = static_cast<std::size_t>((units + chunk_units - 1) / chunk_units);

  const auto shape = [&](std::size_t, sampling_part& to) {
    to.seen.mean.assign(sums.size(), 0.0);
    to.seen.squares.assign(sums.size(), 0.0);
  };
  const auto make = [&](evaluator& ask, std::size_t chunk, sampling_part& to) {
    sampler mine(game, options, result.baseline);
    std::vector<double> x(sums.size());
    for (std::uint64_t u = chunk * chunk_units; u < std::min<std::uint64_t>(units, (chunk + 1) * chunk_units); ++u) {
      // Units are independent, so the finished units of an interrupted chunk count.
      if (options.control.stopped()) return true;
      if (!mine.unit(ask, u, x, to.evaluations)) return options.control.stopped();
      sums.complete(x);
      to.seen.observe(x);
    }
    return true;
  };
  moments moments;
  const auto merge = [&](sampling_part& p) {
    moments.merge(p.seen);
    result.evaluations += p.evaluations;
  };
  in_order<sampling_part>(game, chunks, options.control, shape, make, merge, result.problem);
  if (options.control.output != nullptr) return;
  result.samples = moments.count * weight;
  result.wanted = units * weight;
  result.interrupted = moments.count < units;
  if (!result.problem.empty()) return;
  if (moments.count == 0) {
    result.problem = "stopped before the first sample was done";
    return;
  }
  std::vector<double> errors = moments.errors();
  finish(game, std::move(moments.mean), std::move(errors), result);
}

}  // namespace digd::shapley
