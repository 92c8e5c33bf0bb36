// Learns the structure by averaging: tabu search finds a first graph, and a sampler draws graphs around it
// (order_sampler.h). The result is what most of these graphs agree on; its support is the share that agrees.
//
// One default serves every kind of data; nothing in it is tuned to a data set. Tables have up to 65,535 rows. On
// request, one graph by tabu search or PC-stable replaces the average, or many such graphs on resampled rows. Thread:
// any; the functions keep no state, and a `graph_average` is constant. Lifetime: the result keeps no reference to the
// table. Bounds: a matrix of size² for each draw.
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
  // Sparsity 1: all parent sets of one size weigh as much together as those of another (Koivisto, Sood 2004).
  score_options score{score_kind::automatic, 4.0, 1.0, 1.0};
  // BDe: the right weight of the prior is unknown, so each of these equivalent sample sizes gets its share of the
  // draws. A single tabu search uses score.sample_size.
  std::vector<double> sample_sizes{2, 10};
  tabu_options tabu;
  pc_options pc;
  sampler_options sampler;
  double membership = 0.5;  // share of draws from which on a factor is a member
  knowledge known;          // applies to every method
};

class graph_average {
 public:
  graph_average() = default;
  graph_average(std::vector<pdag> draws, const pdag& best);

  // The equivalence class of the draw that agrees best with all others, pair by pair.
  const pdag& graph() const { return graph_; }
  const pdag& best() const { return best_; }  // DAG of the tabu search
  const std::vector<pdag>& draws() const { return draws_; }
  double directed(variable i, variable j) const {
    return share(directed_[i * size_ + j]);
  }  // share of classes with i → j
  double undirected(variable i, variable j) const {
    return share(undirected_[i * size_ + j]);
  }  // share of classes with i — j
  double causes(variable i, variable j) const { return share(causes_[i * size_ + j]); }  // share of DAGs with i → j
  double membership(variable target, variable v) const { return share(members_[target * size_ + v]); }
  double adjacent(variable i, variable j) const {
    return share(directed_[i * size_ + j] + directed_[j * size_ + i] + undirected_[i * size_ + j]);
  }
  variables boundary(variable target, double min_share = 0.5) const;

 private:
  void choose(const std::vector<pdag>& classes);
  double share(std::uint32_t draws) const { return static_cast<double>(draws) / static_cast<double>(draws_.size()); }

  std::size_t size_ = 0;
  std::vector<pdag> draws_;
  pdag graph_, best_;
  std::vector<std::uint32_t> directed_, undirected_, causes_, members_;  // numbers of draws, size × size
};

// Samples graphs (order_sampler.h), whatever `options.kind` says.
graph_average average_graphs(const table& data, const structure_options& options);
// Uses the method that `options.kind` names. If it gives a single graph, the edges of that graph have support 1.
graph_average learn_graph(const table& data, const structure_options& options);
// One graph for each of `bootstrap` resamples of the rows, by PC-stable if that is the kind, else by tabu search.
graph_average bootstrap_graphs(const table& data, const structure_options& options, std::size_t bootstrap,
                               std::uint64_t seed);

// An edge whose direction is open, and the worth of an experiment on it: w (u + β σ) (CAMO, eq. 29).
//   w  importance: support of the edge times the membership of its nearer end in the target's boundary
//   u  uncertainty: 1 if the edge is undirected in `graph`, else 0
//   σ  disagreement: share of the draws that direct the edge the rarer way
// `graph` is `from.graph()` with known directions applied. Result: highest worth first, worth over 0.01.
struct ambiguous_edge {
  variable a = 0, b = 0;
  double worth = 0, importance = 0, uncertainty = 0, disagreement = 0;
};
std::vector<ambiguous_edge> ambiguous_edges(const graph_average& from, const pdag& graph, variable target,
                                            double beta = 1.0);

}  // namespace digd::causal
