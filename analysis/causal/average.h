// Structure by averaging: tabu search for a first graph, then graphs drawn around it (order_sampler.h); what most of
// them agree on is the answer, how many agree is its support.
//
// One default for every kind of data; nothing in it is tuned to a data set. Rows: up to 65,535.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/causal/order_sampler.h"
#include "analysis/causal/score.h"
#include "analysis/causal/tabu.h"

namespace digd::causal {

struct structure_options {
  // Parent sets of each size weigh the same together (Koivisto, Sood 2004).
  score_options score{score_kind::automatic, 4.0, 1.0, 1.0};
  // BDe: nobody knows how many rows the prior should weigh, so half of the draws take few and half take many. Tabu
  // search on its own takes score.sample_size.
  std::vector<double> sample_sizes{2, 10};
  tabu_options tabu;
  sampler_options sampler;
  double membership = 0.5;  // more draws than this make a member
  knowledge known;          // handed to both
};

class graph_average {
 public:
  graph_average() = default;
  graph_average(std::vector<pdag> draws, const pdag& best);

  // The completed graph of the draw that agrees best with all others, pair by pair.
  const pdag& graph() const { return graph_; }
  const pdag& best() const { return best_; }  // tabu search's DAG
  const std::vector<pdag>& draws() const { return draws_; }
  double adjacent(variable i, variable j) const { return directed(i, j) + directed(j, i) + undirected(i, j); }
  double directed(variable i, variable j) const { return directed_[i * size_ + j]; }      // share of classes with i → j
  double undirected(variable i, variable j) const { return undirected_[i * size_ + j]; }  // share with i — j
  double causes(variable i, variable j) const { return causes_[i * size_ + j]; }          // share of DAGs with i → j
  double membership(variable target, variable v) const { return members_[target * size_ + v]; }
  variables boundary(variable target, double above = 0.5) const;

 private:
  void choose(const std::vector<pdag>& classes);

  std::size_t size_ = 0;
  std::vector<pdag> draws_;
  pdag graph_, best_;
  std::vector<double> directed_, undirected_, causes_, members_;
};

graph_average average_graphs(const table& data, const structure_options& how);

// How often tabu search on resampled rows finds each edge; a row is a variable pair i, j with i → j in the class, or
// i — j. For `bootstrap` resamples of the table.
graph_average bootstrap_graphs(const table& data, const structure_options& how, std::size_t bootstrap, std::uint64_t seed);

// An edge whose direction is open, and how much it is worth to settle it: w(u + βσ), the paper's eq. 29. w: support
// of the edge times how much it has to do with the target; u: 1 if undirected; σ: how much the draws disagree.
struct ambiguous_edge {
  variable a = 0, b = 0;
  double worth = 0, importance = 0, uncertainty = 0, disagreement = 0;
};
std::vector<ambiguous_edge> ambiguous_edges(const graph_average& from, variable target, double beta = 1.0);

}  // namespace digd::causal
