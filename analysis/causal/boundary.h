// The Markov boundary of a target: the fewest factors that, known, make all others useless to predict it.
//
//   IAMB        grows by the strongest association given what is there, then shrinks (Tsamardinos et al. 2003).
//   HITON-MB    parents and children by tests on subsets, then spouses (Aliferis et al. 2003).
//   add & prune the paper's eq. 2: a factor is added if it lowers the held-out uncertainty of the target by more
//               than its standard error, and pruned if leaving it out costs nothing (cross-validation).
//   averaged    the default: the members that at least half of the graphs drawn agree on (average.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/causal/ci_test.h"
#include "analysis/causal/table.h"

namespace digd::causal {

struct boundary_options {
  double alpha = 0.01;
  std::size_t most_given = 3;     // HITON: size of a conditioning set
  std::size_t most_members = 12;  // no boundary grows larger
  std::size_t folds = 5;          // add & prune
  std::uint64_t seed = 1;
};

// Members in ascending order.
variables iamb(ci_test& test, variable target, const boundary_options& options);
variables hiton_mb(ci_test& test, variable target, const boundary_options& options);

// What eq. 2 gives on its way: the held-out uncertainty (nats a row) before, and after each step.
struct refinement {
  variables members;
  std::vector<double> uncertainty;
};
refinement add_and_prune(const table& data, variable target, const boundary_options& options);

// Held-out uncertainty of the target given a set, by row: minus the log density or probability that a ridge
// (continuous) or softmax (discrete) model on the other folds gives it.
std::vector<double> held_out_loss(const table& data, variable target, const variables& given, std::size_t folds,
                                  std::uint64_t seed);

}  // namespace digd::causal
