#include "analysis/causal/pc.h"

#include <algorithm>
#include <map>

namespace digd::causal {

namespace {

// The next combination of k of n in lexicographic order; false after the last.
bool next_combination(std::vector<std::size_t>& at, std::size_t n) {
  const std::size_t k = at.size();
  for (std::size_t i = k; i-- > 0;) {
    if (at[i] >= n - k + i) continue;
    ++at[i];
    for (std::size_t j = i + 1; j < k; ++j) at[j] = at[j - 1] + 1;
    return true;
  }
  return false;
}

class pc {
 public:
  pc(ci_test& test, const pc_options& options) : test_(test), options_(options), n_(test.size()), skeleton_(n_) {}

  pc_result run() {
    start();
    for (std::size_t size = 0; size <= options_.max_given && remove_edges(size); ++size) {
    }
    orient();
    return {skeleton_, test_.count()};
  }

 private:
  bool is_forbidden(variable i, variable j) const {
    return options_.known.forbids(i, j) && options_.known.forbids(j, i);
  }
  bool is_required(variable i, variable j) const {
    return options_.known.requires_edge(i, j) || options_.known.requires_edge(j, i);
  }

  void start() {
    for (variable i = 0; i < n_; ++i) {
      for (variable j = i + 1; j < n_; ++j) {
        if (!is_forbidden(i, j)) skeleton_.connect(i, j);
      }
    }
  }

  // Removes edges by conditioning sets of one size, taken from the neighbours at the start of the round. False once no
  // variable has enough neighbours left.
  bool remove_edges(std::size_t size) {
    std::vector<variables> before(n_);
    bool any = false;
    for (variable v = 0; v < n_; ++v) {
      before[v] = skeleton_.neighbours(v);
      any = any || before[v].size() > size;
    }
    if (!any) return false;
    for (variable i = 0; i < n_; ++i) {
      for (variable j = i + 1; j < n_; ++j) {
        if (!skeleton_.adjacent(i, j) || is_required(i, j)) continue;
        if (!separates(i, j, before[i], size) && size > 0) separates(i, j, before[j], size);
      }
    }
    return true;
  }

  bool separates(variable i, variable j, const variables& among, std::size_t size) {
    variables from;
    for (variable v : among) {
      if (v != i && v != j && may_separate(v, i, j)) from.push_back(v);
    }
    if (from.size() < size) return false;
    std::vector<std::size_t> at(size);
    for (std::size_t k = 0; k < size; ++k) at[k] = k;
    variables given(size);
    do {
      for (std::size_t k = 0; k < size; ++k) given[k] = from[at[k]];
      if (test_.test(i, j, given).p <= options_.alpha) continue;
      skeleton_.remove(i, j);
      separators_[{i, j}] = given;
      return true;
    } while (next_combination(at, from.size()));
    return false;
  }

  // A variable that is later than both in time cannot separate them.
  bool may_separate(variable v, variable i, variable j) const {
    return !(options_.known.forbids(v, i) && options_.known.forbids(v, j));
  }

  void orient() {
    const pdag edges = skeleton_;
    for (variable k = 0; k < n_; ++k) {
      const variables around = edges.neighbours(k);
      for (std::size_t a = 0; a < around.size(); ++a) {
        for (std::size_t b = a + 1; b < around.size(); ++b) {
          if (!edges.adjacent(around[a], around[b])) collide(around[a], k, around[b]);
        }
      }
    }
    orient_by_knowledge(skeleton_, options_.known);
  }

  // Directs i → k ← j if k is not in their separator. An arrow set the other way by an earlier collider stays.
  void collide(variable i, variable k, variable j) {
    const auto set = separators_.find({std::min(i, j), std::max(i, j)});
    if (set == separators_.end()) return;
    if (std::find(set->second.begin(), set->second.end(), k) != set->second.end()) return;
    for (variable from : {i, j}) {
      if (skeleton_.mark(from, k) && !options_.known.forbids(from, k) && !skeleton_.directed(k, from))
        skeleton_.direct(from, k);
    }
  }

  ci_test& test_;
  const pc_options& options_;
  std::size_t n_;
  pdag skeleton_;
  std::map<std::pair<variable, variable>, variables> separators_;
};

}  // namespace

pc_result pc_stable(ci_test& test, const pc_options& options) { return pc(test, options).run(); }

}  // namespace digd::causal
