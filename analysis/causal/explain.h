// The explanation E_Y of an outcome, and how near each factor is to it.
//
// E_Y: the outcome, its boundary, and every node and edge on a directed path from a root factor to a member of the
// boundary; computed as the intersection of what the roots reach and what reaches the boundary (the paper's eq. 3 and
// appendix G). The walk: random walk with restart from the outcome on the reversed graph, steps in proportion to
// the edges' weights (the paper's section 5.2).
#pragma once

#include <vector>

#include "analysis/causal/pdag.h"

namespace digd::causal {

struct explanation {
  variables nodes;                                        // ascending; the outcome among them
  std::vector<std::pair<variable, variable>> edges;       // directed, from → to
  std::vector<std::pair<variable, variable>> undirected;  // between the outcome and its boundary, direction open
  variables roots;                                        // those with a path to the boundary
};

// `roots` empty: every variable without a directed edge into it. Confirmed edges are taken as there, directed.
explanation explain(const pdag& graph, variable target, const variables& boundary, variables roots = {},
                    const std::vector<std::pair<variable, variable>>& confirmed = {});

struct walk_options {
  double restart = 0.15;
  double tolerance = 1e-12;
  std::size_t most_steps = 10'000;
};

// The visits of the walk, summing to 1. weights[i * n + j]: of the edge i → j; the walk goes from j to i. Where nothing
// leads on it starts again at the target.
std::vector<double> walk_from(variable target, const std::vector<double>& weights, std::size_t n,
                              const walk_options& options = {});

}  // namespace digd::causal
