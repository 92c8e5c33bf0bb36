// The explanation E_Y of an outcome, and the nearness of each factor to it.
//
// E_Y is the outcome, its boundary, and every node and edge on a directed path from a root factor to a member of the
// boundary, computed as the intersection of the roots' descendants and the boundary's ancestors (CAMO, eq. 3 and
// appendix G). Nearness is a random walk with restart from the outcome on the reversed graph, with steps in proportion
// to edge weights (CAMO, section 5.2).
#pragma once

#include <vector>

#include "analysis/causal/pdag.h"

namespace digd::causal {

struct explanation {
  variables nodes;                                        // ascending; includes the outcome
  std::vector<std::pair<variable, variable>> edges;       // directed, from → to
  std::vector<std::pair<variable, variable>> undirected;  // edges of open direction between these nodes
  variables roots;                                        // root factors with a path to the boundary
};

// `roots` empty: every variable without a directed edge into it. Confirmed edges are added, directed.
explanation explain(const pdag& graph, variable target, const variables& boundary, variables roots = {},
                    const std::vector<std::pair<variable, variable>>& confirmed = {});

struct walk_options {
  double restart = 0.15;
  double tolerance = 1e-12;
  std::size_t max_steps = 10'000;
};

// Shares of the walk's visits, n numbers that sum to 1. `weights` is n × n: weights[i * n + j] belongs to the edge
// i → j, which the walk takes from j to i. At a node that no edge leads to, the walk restarts at the target.
std::vector<double> walk_from(variable target, const std::vector<double>& weights, std::size_t n,
                              const walk_options& options = {});

}  // namespace digd::causal
