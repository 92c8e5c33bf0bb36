// The Markov boundary of a target: the smallest set of factors that makes all others useless for predicting it.
//
//   IAMB        adds the factor with the strongest association given the current set, then removes what has become
//               useless (Tsamardinos et al. 2003)
//   HITON-MB    parents and children by tests on subsets, then spouses (Aliferis et al. 2003)
//   add & prune CAMO, eq. 2, by cross-validation: adds a factor if it lowers the held-out uncertainty of the target by
//               more than its standard error, removes a factor if that costs nothing
//   averaged    the default: members in at least half of the sampled graphs (average.h)
//
// Thread: as for the test that is passed in. Bounds: `max_members`, `max_given`.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/causal/ci_test.h"
#include "analysis/causal/factors/table.h"

namespace digd::causal {

struct boundary_options {
  double alpha = 0.01;
  std::size_t max_given = 3;     // HITON: largest conditioning set
  std::size_t max_members = 12;  // bound on the size of a boundary
  std::size_t folds = 5;         // add & prune
  std::uint64_t seed = 1;
};

// Members in ascending order.
variables iamb(ci_test& test, variable target, const boundary_options& options);
variables hiton_mb(ci_test& test, variable target, const boundary_options& options);

// `uncertainty`: the held-out uncertainty of the target in nats a row: before the first step, and after each step.
struct refinement {
  variables members;
  std::vector<double> uncertainty;
};
refinement add_and_prune(const table& data, variable target, const boundary_options& options);

}  // namespace digd::causal
