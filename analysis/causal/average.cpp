#include "analysis/causal/average.h"

#include <algorithm>
#include <utility>

#include "analysis/causal/random.h"

namespace digd::causal {

std::string_view to_string(structure_kind k) {
  constexpr std::string_view names[] = {"averaged", "tabu", "pc"};
  return names[static_cast<std::size_t>(k)];
}

graph_average::graph_average(std::vector<pdag> draws, const pdag& best)
    : size_(best.size()), draws_(std::move(draws)), best_(best) {
  if (draws_.empty()) draws_.push_back(best_);
  const std::size_t cells = size_ * size_;
  directed_.assign(cells, 0);
  undirected_.assign(cells, 0);
  causes_.assign(cells, 0);
  members_.assign(cells, 0);
  std::vector<pdag> classes;
  for (const pdag& dag : draws_) {
    classes.push_back(completed(dag));
    for (variable i = 0; i < size_; ++i) {
      for (variable v : markov_boundary(dag, i)) ++members_[i * size_ + v];
      for (variable j = 0; j < size_; ++j) {
        directed_[i * size_ + j] += classes.back().directed(i, j);
        undirected_[i * size_ + j] += classes.back().undirected(i, j);
        causes_[i * size_ + j] += dag.directed(i, j);
      }
    }
  }
  choose(classes);
}

void graph_average::choose(const std::vector<pdag>& classes) {
  double best_agreement = -1;
  for (const pdag& g : classes) {
    double agreement = 0;
    for (variable i = 0; i < size_; ++i) {
      for (variable j = i + 1; j < size_; ++j) {
        agreement += g.directed(i, j)     ? directed(i, j)
                     : g.directed(j, i)   ? directed(j, i)
                     : g.undirected(i, j) ? undirected(i, j)
                                          : 1 - adjacent(i, j);
      }
    }
    if (agreement <= best_agreement + 1e-9) continue;
    best_agreement = agreement;
    graph_ = g;
  }
}

variables graph_average::boundary(variable target, double min_share) const {
  variables out;
  for (variable v = 0; v < size_; ++v) {
    if (v != target && membership(target, v) >= min_share) out.push_back(v);
  }
  return out;
}

graph_average average_graphs(const table& data, const structure_options& options) {
  const bool uses_prior = data.all_discrete() && options.score.kind != score_kind::bic && !options.sample_sizes.empty();
  tabu_options tabu = options.tabu;
  tabu.known = options.known;
  sampler_options sampler = options.sampler;
  sampler.known = options.known;
  std::vector<pdag> draws;
  pdag best;
  for (double rows : uses_prior ? options.sample_sizes : std::vector<double>{options.score.sample_size}) {
    score_options scoring = options.score;
    scoring.sample_size = rows;
    const std::unique_ptr<local_score> score = make_score(data, scoring);
    score_cache cache(*score);
    best = tabu_search(cache, tabu).dag;
    const std::vector<pdag> more = sample_dags(cache, best, sampler);
    draws.insert(draws.end(), more.begin(), more.end());
    ++sampler.seed;
  }
  return {std::move(draws), best};
}

namespace {

// PC's graph may have no DAG when its tests contradict each other; `extend` then gives a DAG near it.
pdag one_graph(const table& data, const structure_options& options) {
  pdag dag;
  if (options.kind == structure_kind::pc) {
    pc_options pc = options.pc;
    pc.known = options.known;
    extend(pc_stable(*make_default_test(data), pc).graph, dag);
    return dag;
  }
  tabu_options tabu = options.tabu;
  tabu.known = options.known;
  const std::unique_ptr<local_score> score = make_score(data, options.score);
  score_cache cache(*score);
  return tabu_search(cache, tabu).dag;
}

}  // namespace

graph_average learn_graph(const table& data, const structure_options& options) {
  if (options.kind == structure_kind::averaged) return average_graphs(data, options);
  const pdag dag = one_graph(data, options);
  return {{dag}, dag};
}

graph_average bootstrap_graphs(const table& data, const structure_options& options, std::size_t bootstrap,
                               std::uint64_t seed) {
  std::vector<pdag> found;
  for (std::size_t b = 0; b < bootstrap; ++b) {
    splitmix_stream chance(seed, 1000 + b);
    std::vector<std::size_t> rows(data.rows());
    for (std::size_t& r : rows) r = chance.below(data.rows());
    found.push_back(one_graph(data.take(rows), options));
  }
  return {std::move(found), one_graph(data, options)};
}

std::vector<ambiguous_edge> ambiguous_edges(const graph_average& from, const pdag& g, variable target, double beta) {
  std::vector<ambiguous_edge> out;
  for (variable i = 0; i < g.size(); ++i) {
    for (variable j = i + 1; j < g.size(); ++j) {
      if (!g.adjacent(i, j)) continue;
      ambiguous_edge e;
      e.a = i;
      e.b = j;
      const bool touches = i == target || j == target;
      const double near = touches ? 1 : std::max(from.membership(target, i), from.membership(target, j));
      e.importance = from.adjacent(i, j) * near;
      e.uncertainty = g.undirected(i, j) ? 1 : 0;
      const double forwards = from.causes(i, j), backwards = from.causes(j, i), sum = forwards + backwards;
      e.disagreement = sum > 0 ? 1 - std::max(forwards, backwards) / sum : 0;
      e.worth = e.importance * (e.uncertainty + beta * e.disagreement);
      if (e.worth > 0.01) out.push_back(e);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const ambiguous_edge& a, const ambiguous_edge& b) { return a.worth > b.worth; });
  return out;
}

}  // namespace digd::causal
