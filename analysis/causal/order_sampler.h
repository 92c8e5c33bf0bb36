// Averaging over graphs instead of trusting one: DAGs drawn by Markov chain over the orders of the variables.
//
// An order's weight is the product over variables of the sum, over parent sets among the variables before it, of
// exp(score) (Friedman and Koller 2003). Parents come from a few candidates a variable (Kuipers, Suter, Moffa
// 2022). Moves: a variable takes any place in the order with its exact conditional probability; neighbours swap.
// Deterministic for a seed. Memory: variables × C(candidates, ≤ parents) numbers.
#pragma once

#include <cstdint>

#include "analysis/causal/pdag.h"
#include "analysis/causal/score.h"

namespace digd::causal {

struct sampler_options {
  std::size_t candidates = 12;  // a variable; at most 20
  std::size_t most_parents = 4;
  std::size_t sweeps = 100;  // of all variables, after burn_in
  std::size_t burn_in = 40;
  std::size_t draws_per_sweep = 2;
  std::uint64_t seed = 1;
  knowledge known;
};

// The graphs drawn, DAGs; empty if there are fewer than two variables.
std::vector<pdag> sample_dags(score_cache& score, const pdag& start, const sampler_options& options);

}  // namespace digd::causal
