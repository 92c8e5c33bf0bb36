// Exact Shapley values by evaluating every set of the active players (eq. 2 and 12).
//
// With w(s) = s!(n-s-1)!/n!, the sum over sets S without i is regrouped by evaluated set:
//   φ_i = Σ_{S ∋ i} w(|S|-1) v(S) - Σ_{S ∌ i} w(|S|) v(S)
// Each of the 2^n sets is evaluated once, sixteen at a time: the first four players differ between the lanes.
#include <algorithm>
#include <bit>
#include <cmath>

#include "analysis/shapley/estimator_parts.h"
#include "analysis/shapley/sum.h"

namespace digd::shapley {

namespace {

constexpr lane_mask lane_bits[4] = {0xAAAA, 0xCCCC, 0xF0F0, 0xFF00};

// w(s) for s = 0 … n-1.
std::vector<double> shapley_weights(std::size_t n) {
  std::vector<double> w(n);
  for (std::size_t s = 0; s < n; ++s) {
    w[s] = std::exp(std::lgamma(s + 1.0) + std::lgamma(static_cast<double>(n - s)) - std::lgamma(n + 1.0));
  }
  return w;
}

struct exact_part {
  std::vector<double> phi;  // by active player
  std::uint64_t sets = 0;

  template <class To>
  void each_number(To& to) {
    to(phi);
    to(sets);
  }
};

}  // namespace

void estimate_exactly(const game& game, const estimate_options& options, estimate_result& result) {
  const std::vector<player_index> active = active_players(game.players());
  const std::size_t n = active.size();
  if (n > max_exact_players) {
    result.problem = "exact values need at most " + std::to_string(max_exact_players) +
                     " players that can matter; there are " + std::to_string(n);
    return;
  }
  const std::vector<double> w = shapley_weights(std::max<std::size_t>(n, 1));
  const std::uint64_t sets = std::uint64_t{1} << n;
  const std::uint64_t chunk_sets = std::min<std::uint64_t>(sets, 4096);
  const std::size_t chunks = static_cast<std::size_t>(sets / chunk_sets);

  const auto shape = [&](std::size_t, exact_part& to) { to.phi.assign(n, 0.0); };
  const auto make = [&](evaluator& ask, std::size_t chunk, exact_part& to) {
    std::vector<lane_mask> masks(game.size(), every_lane);  // null players do not matter
    double v[lanes];
    for (std::uint64_t first = chunk * chunk_sets; first < (chunk + 1) * chunk_sets; first += lanes) {
      const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(lanes, sets - first));
      for (std::size_t i = 0; i < n; ++i) {
        masks[active[i]] = i < 4 ? lane_bits[i] : (first >> i & 1 ? every_lane : 0);
      }
      if (!ask.values(masks, count, v)) return false;
      for (std::size_t l = 0; l < count; ++l) {
        const std::uint64_t set = first + l;
        const std::size_t s = static_cast<std::size_t>(std::popcount(set));
        const double with = s > 0 ? w[s - 1] * (v[l] - result.baseline) : 0;
        const double without = s < n ? w[s] * (v[l] - result.baseline) : 0;
        for (std::size_t i = 0; i < n; ++i) to.phi[i] += set >> i & 1 ? with : -without;
      }
      to.sets += count;
    }
    return !options.control.stopped();
  };
  std::vector<exact_sum> sums(n);
  const auto merge = [&](exact_part& p) {
    for (std::size_t i = 0; i < n; ++i) sums[i].add(p.phi[i]);
    result.evaluations += p.sets;
  };
  const std::size_t done = in_order<exact_part>(game, chunks, options.control, shape, make, merge, result.problem);
  if (!result.problem.empty() || options.control.output != nullptr) return;
  if (done < chunks) {  // some of the sets determine no value of φ
    result.problem = "stopped before all sets were evaluated; exact values have no partial result";
    result.interrupted = true;
    return;
  }
  const tally tallies(game.players());
  std::vector<double> value(tallies.size(), 0.0);
  for (std::size_t i = 0; i < n; ++i) value[active[i]] = sums[i].value();
  result.samples = result.wanted = sets;
  finish(game, std::move(value), std::vector<double>(tallies.size(), 0.0), result);
}

}  // namespace digd::shapley
