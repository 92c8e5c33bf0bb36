// Tabu search over DAGs: from the empty graph, always the best change of one edge that does not lead back to one of the
// graphs seen lately, also where it makes the score worse; the best graph seen is returned (Glover 1989; as in
// Scutari 2010). Bounds: `most_parents`, `patience` changes without a new best.
#pragma once

#include "analysis/causal/pdag.h"
#include "analysis/causal/score.h"

namespace digd::causal {

struct tabu_options {
  std::size_t most_parents = 5;
  std::size_t patience = 60;  // changes in a row without a new best
  std::size_t memory = 200;   // graphs remembered
  knowledge known;            // required edges are in the first graph and stay; forbidden ones never come
};

struct tabu_result {
  pdag dag;
  double score = 0;
};

tabu_result tabu_search(score_cache& score, const tabu_options& options);

}  // namespace digd::causal
