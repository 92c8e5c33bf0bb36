// Samples DAGs by a Markov chain over the orders of the variables, so that results average over graphs.
//
// The weight of an order is the product over variables of the sum, over parent sets among the variables before it, of
// exp(score) (Friedman and Koller 2003). Parents come from a few candidates for each variable (Kuipers, Suter, Moffa
// 2022). A move takes one variable out of the order and puts it back at any place with its exact conditional
// probability (Gibbs).
//
// Deterministic for a seed. Memory: variables × C(candidates, ≤ max_parents) scores. Thread: as for the score.
#pragma once

#include <cstdint>

#include "analysis/causal/pdag.h"
#include "analysis/causal/score.h"

namespace digd::causal {

struct sampler_options {
  std::size_t candidates = 12;  // parents considered for each variable; at most 20
  std::size_t max_parents = 4;
  std::size_t sweeps = 100;  // rounds of moves after the burn-in, one move a variable
  std::size_t burn_in = 40;
  std::size_t draws_per_sweep = 2;
  std::uint64_t seed = 1;
  knowledge known;
};

// sweeps × draws_per_sweep DAGs; none if there are fewer than two variables. `start` is a DAG.
std::vector<pdag> sample_dags(score_cache& score, const pdag& start, const sampler_options& options);

}  // namespace digd::causal
