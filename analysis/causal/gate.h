// The permutation gate: is any factor associated with the outcome? The strongest association must exceed what chance
// alone gives the strongest of so many factors. Every analysis must pass the gate first, because the learners alone
// name a factor in half of the tables in which nothing causes the outcome.
//
// Each permutation shuffles the outcome (within clusters, if given) and yields the smallest p over all factors. A
// factor's adjusted p is the share of permutations whose smallest p is as small as its own (Westfall and Young 1993,
// max-T, single step). If no factor is associated with the outcome, the chance of naming one is at most the level.
//
// Deterministic for a seed. Cost: permutations × factors products of small matrices.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causal/factors/table.h"

namespace digd::causal {

struct gate_options {
  std::size_t permutations = 999;
  double level = 0.02;  // for all factors together; below the 5% aimed for, since the measured rate itself varies
  std::vector<std::uint32_t> cluster;  // label of each row; shuffling stays within it; empty: all rows are exchangeable
  std::uint64_t seed = 1;
};

struct gate_result {
  bool open = false;             // whether some factor passes
  double p = 1;                  // adjusted p of the strongest factor
  std::vector<double> adjusted;  // adjusted p, by variable; 1 for the target
  std::vector<double> single;    // p of the test alone, by variable
};

gate_result permutation_gate(const table& data, variable target, const variables& factors, const gate_options& options);

}  // namespace digd::causal
