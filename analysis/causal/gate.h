// The permutation gate: is the outcome associated with any factor at all, more than chance would make the best of so
// many look? Always on, whatever learner follows: learners alone name something in half of all runs without a cause.
//
// The outcome is permuted (within clusters, if given: same task, same model); each permutation gives the smallest
// p over all factors; a factor's adjusted p is the share of permutations whose smallest is as small as its own
// (Westfall and Young 1993, max-T, single step: holds the chance of naming any factor without a cause at the level).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causal/table.h"

namespace digd::causal {

struct gate_options {
  std::size_t permutations = 999;
  double level = 0.02;  // for all factors together: 5% are wanted; more than half is kept for the luck of counting
  std::vector<std::uint32_t> cluster;  // by row; empty: all rows are exchangeable
  std::uint64_t seed = 1;
};

struct gate_result {
  bool open = false;             // some factor passes
  double p = 1;                  // of the strongest factor, adjusted
  std::vector<double> adjusted;  // by variable; 1 for the target
  std::vector<double> single;    // by variable: from the test alone, not adjusted
};

gate_result permutation_gate(const table& data, variable target, const variables& factors, const gate_options& options);

}  // namespace digd::causal
