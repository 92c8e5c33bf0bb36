// Tabu search over DAGs (Glover 1989; as in Scutari 2010).
//
// Starts from the required edges only. Each step takes the best change of one edge, even if it lowers the score, that
// does not lead back to a recently seen graph. Returns the best graph seen. Bounds: `max_parents`; stops after
// `patience` steps without a new best.
#pragma once

#include "analysis/causal/pdag.h"
#include "analysis/causal/score.h"

namespace digd::causal {

struct tabu_options {
  std::size_t max_parents = 5;
  std::size_t patience = 60;  // steps in a row without a new best
  std::size_t memory = 200;   // recent graphs that are not visited again
  knowledge known;            // required edges stay, forbidden ones are never added
};

struct tabu_result {
  pdag dag;
  double score = 0;
};

tabu_result tabu_search(score_cache& score, const tabu_options& options);

}  // namespace digd::causal
