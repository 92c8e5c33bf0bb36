// Leverage-score regression: φ as the weighted least squares fit of an additive game (Lundberg and Lee 2017, theorem
// 2). Rows are sampled by leverage, that is uniformly over set sizes, in pairs of a set and its complement (Musco and
// Witter, "Provably accurate Shapley value estimation via leverage score sampling", 2025).
//
// With pairs only the odd part y = (v(S) - v(Ω\S))/2 matters, regressed on z - ½. Set sizes are strata with equal
// numbers of pairs. A stratum with fewer sets than its share is evaluated in full, and the rest of its share goes to
// the others. Σφ = v(Ω) is a constraint of the fit. Standard errors: delete-a-group jackknife over ten groups of
// rounds.
#include <Eigen/Cholesky>
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "analysis/shapley/clones.h"
#include "analysis/shapley/estimator_parts.h"
#include "analysis/shapley/purposes.h"

namespace digd::shapley {

namespace {

using matrix = Eigen::MatrixXd;
using vector = Eigen::VectorXd;

// Adds weight · Σ_rows z̃_i z̃_j to the lower triangle of `gram` (n × n). z̃ is ±½, so a sum is
// (rows - 2 · differing)/4. members[i]: bit r says whether row r has player i.
DIGD_POPCOUNT_CLONES
void add_gram(const std::uint64_t* members, std::size_t n, int rows, double weight, double* gram) {
  for (std::size_t j = 0; j < n; ++j) {
    double* column = gram + j * n;
    const std::uint64_t mine = members[j];
    for (std::size_t i = j; i < n; ++i) {
      column[i] += weight * 0.25 * (rows - 2 * std::popcount(mine ^ members[i]));
    }
  }
}

// Sets of one size and their complements.
struct stratum {
  std::size_t size = 0;  // of the smaller set
  double mass = 0;       // sum of the kernel weights of all its rows, (n-1)/(C(n,s) s (n-s)) each
  double pairs = 0;      // number of distinct pairs
  bool in_full = false;
};

struct normal_equations {
  matrix gram;
  vector right;
  std::uint64_t rounds = 0, evaluations = 0;

  void prepare(std::size_t n) {
    gram.setZero(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n));
    right.setZero(static_cast<Eigen::Index>(n));
  }
};

// Collects up to 64 rows of one stratum, evaluates them, adds them to the normal equations.
class row_block {
 public:
  row_block(evaluator& ask, const std::vector<player_index>& active, std::size_t players)
      : ask_(ask), active_(active), masks_(players), members_(active.size()), pool_(active.size()) {
    std::iota(pool_.begin(), pool_.end(), 0u);
  }

  bool draw(const stratum& s, std::size_t rows, random_stream& from) {
    clear();
    for (; rows_ < rows; ++rows_) {
      for (std::size_t k = 0; k < s.size; ++k) {
        std::swap(pool_[k], pool_[k + from.below(static_cast<std::uint32_t>(pool_.size() - k))]);
        members_[pool_[k]] |= std::uint64_t{1} << rows_;
      }
    }
    return evaluate();
  }
  void clear() {
    std::fill(members_.begin(), members_.end(), 0);
    rows_ = 0;
  }
  bool full() const { return rows_ == 64; }
  void add(std::span<const std::uint32_t> set) {
    for (const std::uint32_t i : set) members_[i] |= std::uint64_t{1} << rows_;
    ++rows_;
  }

  // Eight pairs a call: a set in an even lane, its complement in the next.
  bool evaluate() {
    for (std::size_t row = 0; row < rows_; row += lanes / 2) {
      const std::size_t pairs = std::min(lanes / 2, rows_ - row);
      for (std::size_t i = 0; i < active_.size(); ++i) {
        const std::uint32_t in = static_cast<std::uint32_t>(members_[i] >> row) & 0xFF;
        masks_[active_[i]] = static_cast<lane_mask>(spread(in) | spread(~in & 0xFF) << 1);
      }
      double v[lanes];
      if (!ask_.values(masks_, 2 * pairs, v)) return false;
      for (std::size_t k = 0; k < pairs; ++k) odd_[row + k] = 0.5 * (v[2 * k] - v[2 * k + 1]);
    }
    return true;
  }

  void add_to(normal_equations& to, double weight) const {
    add_gram(members_.data(), members_.size(), static_cast<int>(rows_), weight, to.gram.data());
    double total = 0;
    for (std::size_t row = 0; row < rows_; ++row) total += odd_[row];
    for (std::size_t i = 0; i < members_.size(); ++i) {
      double in = 0;
      for (std::uint64_t bits = members_[i]; bits != 0; bits &= bits - 1) in += odd_[std::countr_zero(bits)];
      to.right[static_cast<Eigen::Index>(i)] += weight * (in - 0.5 * total);
    }
    to.evaluations += 2 * rows_;
  }

 private:
  static std::uint32_t spread(std::uint32_t x) {  // moves bit k to bit 2k
    x = (x | x << 4) & 0x0F0F;
    x = (x | x << 2) & 0x3333;
    return (x | x << 1) & 0x5555;
  }

  evaluator& ask_;
  const std::vector<player_index>& active_;
  std::vector<lane_mask> masks_;
  std::vector<std::uint64_t> members_;
  std::vector<std::uint32_t> pool_;
  std::size_t rows_ = 0;
  double odd_[64] = {};
};

struct plan {
  std::vector<stratum> strata;
  std::uint64_t rounds = 0;  // samples of each stratum that is not evaluated in full

  plan(std::size_t n, std::uint64_t samples) {
    double sets = 1;
    for (std::size_t s = 1; 2 * s <= n; ++s) {
      sets *= static_cast<double>(n - s + 1) / static_cast<double>(s);
      const double both = 2 * s < n ? 2.0 : 1.0;
      strata.push_back({s, both / (static_cast<double>(s) * static_cast<double>(n - s)), 2 * s < n ? sets : sets / 2});
    }
    double budget = static_cast<double>(samples) * static_cast<double>(n) / 2;  // in pairs
    std::size_t left = strata.size();
    for (stratum& s : strata) {
      if (s.pairs > budget / static_cast<double>(left)) break;
      s.in_full = true;
      budget -= s.pairs;
      --left;
    }
    if (left > 0) rounds = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(budget / static_cast<double>(left)));
  }
};

// Evaluates all pairs of a stratum.
bool ask_in_full(const stratum& s, std::size_t n, row_block& rows, normal_equations& to) {
  std::vector<std::uint32_t> set(s.size);
  std::iota(set.begin(), set.end(), 0u);
  rows.clear();
  const double weight = s.mass / s.pairs;
  for (bool more = true; more;) {
    if (2 * s.size < n || set[0] == 0) rows.add(set);  // of equal halves only the one with the first player
    std::size_t k = s.size;
    while (k > 0 && set[k - 1] == n - s.size + k - 1) --k;
    more = k > 0;
    if (more) {
      ++set[k - 1];
      for (; k < s.size; ++k) set[k] = set[k - 1] + 1;
    }
    if (!rows.full() && more) continue;
    if (!rows.evaluate()) return false;
    rows.add_to(to, weight);
    rows.clear();
  }
  return true;
}

// The fit under Σφ = total: φ = G⁻¹(r + λ1). Empty if the rows do not determine φ.
vector solve(const matrix& gram, const vector& right, double total) {
  const Eigen::LDLT<matrix, Eigen::Lower> factor(gram);
  if (factor.info() != Eigen::Success || factor.vectorD().minCoeff() < 1e-12 * factor.vectorD().maxCoeff()) return {};
  const vector ones = factor.solve(vector::Ones(right.size()));
  const vector free = factor.solve(right);
  vector phi = free + ones * ((total - free.sum()) / ones.sum());
  return phi.allFinite() ? phi : vector{};
}

struct chunk_of_rounds {
  std::size_t group = 0;
  std::uint64_t first = 0, count = 0;
};

struct regression_part : normal_equations {
  std::size_t group = 0;
  bool in_full = false;

  template <class To>
  void each_number(To& to) {
    to(std::span(gram.data(), static_cast<std::size_t>(gram.size())));
    to(std::span(right.data(), static_cast<std::size_t>(right.size())));
    to(evaluations);
  }
};

class regression {
 public:
  regression(const game& game, const estimate_options& options, std::vector<player_index> active)
      : game_(game), options_(options), active_(std::move(active)), plan_(active_.size(), options.samples) {
    const std::uint64_t groups = std::min<std::uint64_t>(10, plan_.rounds);
    const std::uint64_t max_rounds = game.slow() ? 4 : 64;  // in one chunk
    for (std::uint64_t g = 0; g < groups; ++g) {
      const std::uint64_t end = plan_.rounds * (g + 1) / groups;
      for (std::uint64_t at = plan_.rounds * g / groups; at < end; at += max_rounds)
        chunks_.push_back({g, at, std::min(max_rounds, end - at)});
    }
    in_full_.prepare(active_.size());
    sampled_.resize(groups);
    for (normal_equations& s : sampled_) s.prepare(active_.size());
  }

  // Chunk 0 holds the strata that are evaluated in full.
  std::size_t chunks() const { return chunks_.size() + 1; }

  void shape(std::size_t chunk, regression_part& to) const {
    to.prepare(active_.size());
    to.in_full = chunk == 0;
    if (chunk > 0) {
      to.group = chunks_[chunk - 1].group;
      to.rounds = chunks_[chunk - 1].count;
    }
  }

  bool make(evaluator& ask, std::size_t chunk, regression_part& to) const {
    row_block rows(ask, active_, game_.size());
    for (const stratum& s : plan_.strata) {
      if (options_.control.stopped()) return false;
      if (s.in_full != to.in_full) continue;
      if (to.in_full) {
        if (!ask_in_full(s, active_.size(), rows, to)) return false;
        continue;
      }
      random_stream draw(options_.seed, purpose::subset, chunks_[chunk - 1].first << 16 | s.size);
      if (!rows.draw(s, to.rounds, draw)) return false;
      rows.add_to(to, s.mass);
    }
    return true;
  }

  void merge(const regression_part& p, estimate_result& result) {
    normal_equations& to = p.in_full ? in_full_ : sampled_[p.group];
    to.gram += p.gram;
    to.right += p.right;
    to.rounds += p.rounds;
    result.evaluations += p.evaluations;
  }

  // Fits the merged rows and sets the result.
  void fit(std::size_t chunks_done, estimate_result& result) const {
    normal_equations sampled_sum;
    sampled_sum.prepare(active_.size());
    for (const normal_equations& s : sampled_) {
      sampled_sum.gram += s.gram;
      sampled_sum.right += s.right;
      sampled_sum.rounds += s.rounds;
    }
    result.interrupted = chunks_done < chunks();
    result.samples =
        plan_.rounds > 0 ? options_.samples * sampled_sum.rounds / plan_.rounds : options_.samples * (chunks_done > 0);
    const vector phi = solution(sampled_sum, nullptr, result.total);
    if (phi.size() == 0) {
      result.problem = "too few samples for a regression on " + std::to_string(active_.size()) +
                       " players; use antithetic or more samples";
      return;
    }
    moments left_out;
    for (const normal_equations& s : sampled_) {
      if (s.rounds == 0 || s.rounds == sampled_sum.rounds) continue;
      if (const vector without = solution(sampled_sum, &s, result.total); without.size() > 0)
        left_out.observe(tallied(without));
    }
    const tally sums(game_.players());
    std::vector<double> error(sums.size(), 0.0);
    if (left_out.count > 1) {  // ((g-1)/g) Σ (φ_(-k) - mean)²
      const double g = static_cast<double>(left_out.count);
      for (std::size_t i = 0; i < error.size(); ++i) error[i] = std::sqrt((g - 1) / g * left_out.squares[i]);
    }
    finish(game_, tallied(phi), std::move(error), result);
  }

 private:
  // The fit of all rounds, or of all but those of one group.
  vector solution(const normal_equations& sampled_sum, const normal_equations* without, double total) const {
    const std::uint64_t rounds = sampled_sum.rounds - (without != nullptr ? without->rounds : 0);
    const double scale = rounds > 0 ? 1.0 / static_cast<double>(rounds) : 0;
    if (without == nullptr)
      return solve(in_full_.gram + sampled_sum.gram * scale, in_full_.right + sampled_sum.right * scale, total);
    return solve(in_full_.gram + (sampled_sum.gram - without->gram) * scale,
                 in_full_.right + (sampled_sum.right - without->right) * scale, total);
  }

  std::vector<double> tallied(const vector& of) const {
    const tally sums(game_.players());
    std::vector<double> values(sums.size(), 0.0);
    for (std::size_t i = 0; i < active_.size(); ++i) values[active_[i]] = of[static_cast<Eigen::Index>(i)];
    sums.complete(values);
    return values;
  }

  const game& game_;
  const estimate_options& options_;
  const std::vector<player_index> active_;
  const plan plan_;
  std::vector<chunk_of_rounds> chunks_;
  normal_equations in_full_;
  std::vector<normal_equations> sampled_;  // by group
};

}  // namespace

void estimate_by_regression(const game& game, const estimate_options& options, estimate_result& result) {
  std::vector<player_index> active = active_players(game.players());
  if (active.size() > max_regression_players) {
    result.problem = "leverage regression takes at most " + std::to_string(max_regression_players) +
                     " players; there are " + std::to_string(active.size());
    return;
  }
  if (active.size() < 4) {
    result.estimator = estimator::exact;
    return estimate_exactly(game, options, result);
  }
  regression job(game, options, std::move(active));
  const std::size_t done = in_order<regression_part>(
      game, job.chunks(), options.control, [&](std::size_t chunk, regression_part& to) { job.shape(chunk, to); },
      [&](evaluator& ask, std::size_t chunk, regression_part& to) { return job.make(ask, chunk, to); },
      [&](regression_part& p) { job.merge(p, result); }, result.problem);
  if (result.problem.empty() && options.control.output == nullptr) job.fit(done, result);
}

}  // namespace digd::shapley
