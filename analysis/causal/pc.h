// PC-stable: the skeleton by tests with ever larger conditioning sets, colliders from the sets that separated, the rest
// by Meek's rules and what is known beforehand (Spirtes, Glymour 1991; Colombo, Maathuis 2014; Meek 1995).
#pragma once

#include "analysis/causal/ci_test.h"
#include "analysis/causal/pdag.h"

namespace digd::causal {

struct pc_options {
  double alpha = 0.01;
  std::size_t most_given = 4;  // size of a conditioning set; as many as there are variables: no limit
  knowledge known;
};

struct pc_result {
  pdag graph;
  std::uint64_t tests = 0;
};

pc_result pc_stable(ci_test& test, const pc_options& options);

}  // namespace digd::causal
