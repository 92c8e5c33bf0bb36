// Structure by averaging: tabu search for a first graph, then graphs drawn around it (order_sampler.h); what most of
// them agree on is the answer, how many agree is its support.
//
// One default for every kind of data; nothing in it is tuned to a data set. Rows: up to 65,535. Instead of averaging,
// one graph by tabu search or PC-stable can be asked for, and many of them on resampled rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/causal/order_sampler.h"
#include "analysis/causal/pc.h"
#include "analysis/causal/score.h"
#include "analysis/causal/tabu.h"

namespace digd::causal {

enum class structure_kind : std::uint8_t { averaged, tabu, pc };
std::string_view to_string(structure_kind);

struct structure_options {
  structure_kind kind = structure_kind::averaged;
  // Parent sets of each size weigh the same together (Koivisto, Sood 2004).
  score_options score{score_kind::automatic, 4.0, 1.0, 1.0};
  // BDe: nobody knows how many rows the prior should weigh, so half of the draws take few and half take many. Tabu
  // search on its own takes score.sample_size.
  std::vector<double> sample_sizes{2, 10};
  tabu_options tabu;
  pc_options pc;
  sampler_options sampler;
  double membership = 0.5;  // so many draws, or more, make a member
  knowledge known;          // handed to all
};

class graph_average {
 public:
  graph_average() = default;
  graph_average(std::vector<pdag> draws, const pdag& best);

  // The completed graph of the draw that agrees best with all others, pair by pair.
  const pdag& graph() const { return graph_; }
  const pdag& best() const { return best_; }  // tabu search's DAG
  const std::vector<pdag>& draws() const { return draws_; }
  double directed(variable i, variable j) const { return share(directed_[i * size_ + j]); }  // of classes, with i → j
  double undirected(variable i, variable j) const { return share(undirected_[i * size_ + j]); }  // with i — j
  double causes(variable i, variable j) const { return share(causes_[i * size_ + j]); }  // of DAGs, with i → j
  double membership(variable target, variable v) const { return share(members_[target * size_ + v]); }
  double adjacent(variable i, variable j) const {
    return share(directed_[i * size_ + j] + directed_[j * size_ + i] + undirected_[i * size_ + j]);
  }
  variables boundary(variable target, double least = 0.5) const;

 private:
  void choose(const std::vector<pdag>& classes);
  double share(std::uint32_t draws) const { return static_cast<double>(draws) / static_cast<double>(draws_.size()); }

  std::size_t size_ = 0;
  std::vector<pdag> draws_;
  pdag graph_, best_;
  std::vector<std::uint32_t> directed_, undirected_, causes_, members_;  // draws, by pair
};

// By drawing, whatever the kind.
graph_average average_graphs(const table& data, const structure_options& options);
// One graph by tabu search or PC-stable, whose support is 1 where it has an edge; averaged where that is the kind.
graph_average learn_graph(const table& data, const structure_options& options);
// How often each edge is found on `bootstrap` resamples of the rows: by PC-stable if that is the kind, else by tabu
// search.
graph_average bootstrap_graphs(const table& data, const structure_options& options, std::size_t bootstrap,
                               std::uint64_t seed);

// An edge whose direction is open, and how much it is worth to settle it: w(u + βσ), the paper's eq. 29. w: support
// of the edge times how much it has to do with the target; u: 1 if undirected in `graph`, which is that of `from` with
// what is known beforehand; σ: how much the draws disagree.
struct ambiguous_edge {
  variable a = 0, b = 0;
  double worth = 0, importance = 0, uncertainty = 0, disagreement = 0;
};
std::vector<ambiguous_edge> ambiguous_edges(const graph_average& from, const pdag& graph, variable target,
                                            double beta = 1.0);

}  // namespace digd::causal
