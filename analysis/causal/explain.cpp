#include "analysis/causal/explain.h"

#include <algorithm>
#include <cmath>

namespace digd::causal {

explanation explain(const pdag& graph, variable target, const variables& boundary, variables roots,
                    const std::vector<std::pair<variable, variable>>& confirmed) {
  pdag g = graph;
  for (const auto& [from, to] : confirmed) g.direct(from, to);
  if (roots.empty()) {
    for (variable v = 0; v < g.size(); ++v) {
      if (v != target && g.parents(v).empty()) roots.push_back(v);
    }
  }
  const std::vector<char> from_roots = descendants(g, roots), to_boundary = ancestors(g, boundary);
  explanation out;
  std::vector<char> on_path(g.size(), 0), in(g.size(), 0);
  for (variable v = 0; v < g.size(); ++v) on_path[v] = from_roots[v] && to_boundary[v];
  in = on_path;
  in[target] = 1;
  for (variable b : boundary) in[b] = 1;
  for (variable r : roots) {
    if (on_path[r]) out.roots.push_back(r);
  }
  for (variable i = 0; i < g.size(); ++i) {
    if (in[i]) out.nodes.push_back(i);
    for (variable j = 0; j < g.size(); ++j) {
      if (!in[i] || !in[j] || i == j) continue;
      if (g.directed(i, j)) out.edges.emplace_back(i, j);
      if (i < j && g.undirected(i, j)) out.undirected.emplace_back(i, j);
    }
  }
  return out;
}

std::vector<double> walk_from(variable target, const std::vector<double>& weights, std::size_t n,
                              const walk_options& options) {
  std::vector<double> out_of(n, 0.0);
  for (variable j = 0; j < n; ++j) {
    for (variable i = 0; i < n; ++i) out_of[j] += weights[i * n + j];
  }
  std::vector<double> at(n, 0.0), next(n);
  at[target] = 1;
  for (std::size_t step = 0; step < options.max_steps; ++step) {
    std::fill(next.begin(), next.end(), 0.0);
    double again = 0;
    for (variable j = 0; j < n; ++j) {
      again += at[j] * (out_of[j] > 0 ? options.restart : 1.0);
      if (out_of[j] <= 0) continue;
      for (variable i = 0; i < n; ++i) next[i] += (1 - options.restart) * at[j] * weights[i * n + j] / out_of[j];
    }
    next[target] += again;
    double moved = 0;
    for (variable i = 0; i < n; ++i) moved += std::abs(next[i] - at[i]);
    at.swap(next);
    if (moved < options.tolerance) break;
  }
  return at;
}

}  // namespace digd::causal
