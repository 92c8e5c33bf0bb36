#include "analysis/causal/tabu.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "analysis/causal/random.h"

namespace digd::causal {

namespace {

constexpr double no_gain = -std::numeric_limits<double>::infinity();

enum class change_kind : std::uint8_t { add, remove, reverse };

struct change {
  change_kind kind = change_kind::add;
  variable from = 0, to = 0;
  double gain = no_gain;
};

class search {
 public:
  search(score_cache& score, const tabu_options& options)
      : score_(score), options_(options), n_(score.size()), dag_(n_), own_(n_, 0), gain_(n_ * n_, no_gain) {
    for (const auto& [from, to] : options_.known.required) {
      if (from != to && !reaches(to, from)) dag_.direct(from, to);
    }
    for (variable v = 0; v < n_; ++v) refresh(v);
    for (std::size_t i = 0; i < n_ * n_; ++i) names_.push_back(splitmix_stream(7, i).next());
    for (variable i = 0; i < n_; ++i) {
      for (variable j = 0; j < n_; ++j) {
        if (dag_.directed(i, j)) hash_ ^= names_[i * n_ + j];
      }
    }
  }

  tabu_result run() {
    tabu_result best{dag_, total()};
    seen_.push_back(hash_);
    for (std::size_t without = 0; without < options_.patience;) {
      const change next = best_change();
      if (next.gain == no_gain) break;
      apply(next);
      seen_.push_back(hash_);
      if (seen_.size() > options_.memory) seen_.pop_front();
      const double now = total();
      if (now > best.score + 1e-9) {
        best = {dag_, now};
        without = 0;
      } else {
        ++without;
      }
    }
    return best;
  }

 private:
  double total() const {
    double sum = 0;
    for (double s : own_) sum += s;
    return sum;
  }

  // The gain of adding or removing each edge into v.
  void refresh(variable v) {
    const variables now = dag_.parents(v);
    own_[v] = score_(v, now);
    for (variable u = 0; u < n_; ++u) {
      if (u == v) continue;
      variables with = now;
      const auto place = std::lower_bound(with.begin(), with.end(), u);
      if (place != with.end() && *place == u) {
        with.erase(place);
      } else if (now.size() >= options_.max_parents || options_.known.forbids(u, v)) {
        gain_[u * n_ + v] = no_gain;
        continue;
      } else {
        with.insert(place, u);
      }
      gain_[u * n_ + v] = score_(v, with) - own_[v];
    }
  }

  bool reaches(variable from, variable to) const { return from == to || descendants(dag_, {from})[to]; }

  // reach[i][j]: j can be reached from i by at least one edge.
  void close() {
    reach_.assign(n_, std::vector<char>(n_, 0));
    variables order = topological_order(dag_);
    for (auto v = order.rbegin(); v != order.rend(); ++v) {
      for (variable c : dag_.children(*v)) {
        reach_[*v][c] = 1;
        for (variable d = 0; d < n_; ++d) reach_[*v][d] |= reach_[c][d];
      }
    }
  }

  bool reverse_makes_cycle(variable from, variable to) const {
    for (variable c : dag_.children(from)) {
      if (c != to && (reach_[c][to])) return true;
    }
    return false;
  }

  void consider(change_kind kind, variable from, variable to, double gain, std::uint64_t hash, change& best) const {
    if (!(gain > best.gain + 1e-12)) return;
    if (std::find(seen_.begin(), seen_.end(), hash) != seen_.end()) return;
    best = {kind, from, to, gain};
  }

  change best_change() {
    close();
    change best;
    for (variable i = 0; i < n_; ++i) {
      for (variable j = 0; j < n_; ++j) {
        if (i == j) continue;
        const std::uint64_t flipped = hash_ ^ names_[i * n_ + j];
        if (!dag_.directed(i, j)) {
          if (!dag_.adjacent(i, j) && !reach_[j][i]) consider(change_kind::add, i, j, gain_[i * n_ + j], flipped, best);
          continue;
        }
        if (options_.known.requires_edge(i, j)) continue;
        consider(change_kind::remove, i, j, gain_[i * n_ + j], flipped, best);
        const double turned = gain_[i * n_ + j] + gain_[j * n_ + i];
        if (turned > best.gain && !reverse_makes_cycle(i, j)) {
          consider(change_kind::reverse, i, j, turned, flipped ^ names_[j * n_ + i], best);
        }
      }
    }
    return best;
  }

  void apply(const change& change) {
    hash_ ^= names_[change.from * n_ + change.to];
    if (change.kind == change_kind::add) dag_.direct(change.from, change.to);
    if (change.kind == change_kind::remove) dag_.remove(change.from, change.to);
    if (change.kind == change_kind::reverse) {
      dag_.direct(change.to, change.from);
      hash_ ^= names_[change.to * n_ + change.from];
      refresh(change.from);
    }
    refresh(change.to);
  }

  score_cache& score_;
  const tabu_options& options_;
  std::size_t n_;
  pdag dag_;
  std::vector<double> own_;
  std::vector<double> gain_;  // of adding or removing i → j
  std::vector<std::uint64_t> names_;
  std::uint64_t hash_ = 0;
  std::deque<std::uint64_t> seen_;
  std::vector<std::vector<char>> reach_;
};

}  // namespace

tabu_result tabu_search(score_cache& score, const tabu_options& options) { return search(score, options).run(); }

}  // namespace digd::causal
