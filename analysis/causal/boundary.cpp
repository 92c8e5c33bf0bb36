#include "analysis/causal/boundary.h"

#include <algorithm>

namespace digd::causal {

namespace {

// Compares associations of different tests: smaller p first, then the larger statistic a degree of freedom.
bool is_stronger(const test_result& a, const test_result& b) {
  if (a.p != b.p) return a.p < b.p;
  const double wa = a.df > 0 ? a.statistic / a.df : a.statistic * a.statistic;
  const double wb = b.df > 0 ? b.statistic / b.df : b.statistic * b.statistic;
  return wa > wb;
}

bool contains(const variables& set, variable v) { return std::find(set.begin(), set.end(), v) != set.end(); }

variables without(const variables& set, variable v) {
  variables out;
  for (variable u : set) {
    if (u != v) out.push_back(u);
  }
  return out;
}

void shrink(ci_test& test, variable target, variables& members, double alpha) {
  for (bool changed = true; changed;) {
    changed = false;
    for (variable v : variables(members)) {
      const variables rest = without(members, v);
      if (test.test(target, v, rest).p <= alpha) continue;
      members = rest;
      changed = true;
    }
  }
}

// Whether some subset of `from`, of at most `max_size` members, separates v from the target; `by` is then that subset.
bool is_separable(ci_test& test, variable target, variable v, const variables& from, std::size_t max_size, double alpha,
                  variables& by) {
  const std::size_t limit = std::min(max_size, from.size());
  std::vector<std::size_t> at;
  for (std::size_t size = 0; size <= limit; ++size) {
    at.resize(size);
    for (std::size_t k = 0; k < size; ++k) at[k] = k;
    while (true) {
      by.clear();
      for (std::size_t k : at) by.push_back(from[k]);
      if (test.test(target, v, by).p > alpha) return true;
      std::size_t i = size;
      while (i > 0 && at[i - 1] == from.size() - size + i - 1) --i;
      if (i == 0) break;
      ++at[i - 1];
      for (std::size_t j = i; j < size; ++j) at[j] = at[j - 1] + 1;
    }
  }
  return false;
}

// HITON-PC: candidates by strength; each new member may make others superfluous.
variables parents_and_children(ci_test& test, variable target, const boundary_options& options,
                               std::vector<variables>& separators) {
  std::vector<std::pair<variable, test_result>> open;
  separators.assign(test.size(), {});
  for (variable v = 0; v < test.size(); ++v) {
    if (v == target) continue;
    const test_result r = test.test(target, v, {});
    if (r.p <= options.alpha) open.emplace_back(v, r);
  }
  std::stable_sort(open.begin(), open.end(),
                   [](const auto& a, const auto& b) { return is_stronger(a.second, b.second); });
  variables members;
  for (const auto& [v, strength] : open) {
    if (is_separable(test, target, v, members, options.max_given, options.alpha, separators[v])) continue;
    members.push_back(v);
    if (members.size() > options.max_members) break;
  }
  for (std::size_t i = members.size(); i-- > 0;) {
    const variable v = members[i];
    if (is_separable(test, target, v, without(members, v), options.max_given, options.alpha, separators[v])) {
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return members;
}

}  // namespace

variables iamb(ci_test& test, variable target, const boundary_options& options) {
  variables members;
  while (members.size() < options.max_members) {
    variable best = test.size();
    test_result strength;
    for (variable v = 0; v < test.size(); ++v) {
      if (v == target || contains(members, v)) continue;
      const test_result r = test.test(target, v, members);
      if (r.p <= options.alpha && (best == test.size() || is_stronger(r, strength))) best = v, strength = r;
    }
    if (best == test.size()) break;
    members.push_back(best);
    const std::size_t before = members.size();
    shrink(test, target, members, options.alpha);
    if (members.size() < before && !contains(members, best)) break;
  }
  std::sort(members.begin(), members.end());
  return members;
}

variables hiton_mb(ci_test& test, variable target, const boundary_options& options) {
  std::vector<variables> separators, ignored;
  const variables close = parents_and_children(test, target, options, separators);
  variables members = close;
  for (variable c : close) {
    for (variable s : parents_and_children(test, c, options, ignored)) {
      if (s == target || contains(close, s) || contains(members, s)) continue;
      variables given = separators[s];
      if (!contains(given, c)) given.push_back(c);
      if (test.test(target, s, given).p <= options.alpha) members.push_back(s);
    }
  }
  shrink(test, target, members, options.alpha);
  std::sort(members.begin(), members.end());
  return members;
}

}  // namespace digd::causal
