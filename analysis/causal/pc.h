// PC-stable (Spirtes, Glymour 1991; Colombo, Maathuis 2014): the skeleton by tests with growing conditioning sets,
// colliders from the sets that separated, the other directions by known edges and Meek's rules (Meek 1995).
#pragma once

#include "analysis/causal/ci_test.h"
#include "analysis/causal/pdag.h"

namespace digd::causal {

struct pc_options {
  double alpha = 0.01;
  std::size_t max_given = 4;  // largest conditioning set
  knowledge known;
};

struct pc_result {
  pdag graph;
  std::uint64_t tests = 0;
};

pc_result pc_stable(ci_test& test, const pc_options& options);

}  // namespace digd::causal
