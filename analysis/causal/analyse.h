// The whole analysis of a factor table in one call: which factors lead to an outcome over many runs.
//
// Steps: twins, permutation gate (gate.h), Markov boundary (boundary.h), structure (average.h), explanation
// (explain.h), levers. How far the analysis goes depends on the number of runs (`stage`): under 30 no answer, under 100
// screening only, then a boundary, from 500 on directions too. `remarks` says in words what was withheld and why.
//
// Ownership: the result keeps no reference to the table. Thread: the caller's; no state between calls. Same table,
// options and seed give the same result. Cost: seconds for 40 factors and 1,000 runs. Failure: none; too few runs give
// `stage::refused`.
#pragma once

#include <string>
#include <vector>

#include "analysis/causal/average.h"
#include "analysis/causal/boundary.h"
#include "analysis/causal/explain.h"
#include "analysis/causal/gate.h"

namespace digd::causal {

enum class stage : std::uint8_t { refused, screening, boundary, orientation };
enum class evidence : std::uint8_t { screened, candidate, verified };
enum class learner : std::uint8_t { averaged, iamb, hiton, add_prune };

std::string_view to_string(stage);
std::string_view to_string(evidence);
std::string_view to_string(learner);

struct analysis_options {
  digd::causal::learner learner = learner::averaged;
  structure_options structure;
  boundary_options boundary;
  gate_options gate;
  std::size_t bootstrap = 0;  // structure searches on resampled rows, instead of sampled graphs; 0: none
  variables roots;            // root factors; empty: factors without a directed edge into them
  std::vector<std::pair<variable, variable>> confirmed;  // by experiments; `structure.known` requires them too
  double near_deterministic = 0.99;                      // squared correlation from which on two factors are twins
};

struct member {
  variable factor = 0;
  double support = 0;       // share of graphs with it in the boundary; 0 or 1 where there is one graph
  double p = 1;             // of the gate for this factor, adjusted for the number of factors
  double p_given_rest = 1;  // of a test given the rest of the boundary
  double upstream = 0;      // share of graphs in which it leads to the outcome
  double downstream = 0;    // share of graphs in which the outcome leads to it
};

struct lever {
  member facts;
  double nearness = 0;  // share of the random walk's visits (explain.h)
  evidence grade = evidence::screened;
  bool in_boundary = false;
  bool direction_open = true;
  std::string words;  // the effect that the runs show, and what to try
};

struct twin_pair {
  variable kept = 0, dropped = 0;
  double r2 = 0;  // squared correlation
};

struct analysis {
  stage reached = stage::refused;
  std::vector<std::string> remarks;  // notes and warnings for people
  gate_result gate;
  std::vector<twin_pair> twins;
  variables restating;  // factors that determine the outcome; left out
  std::vector<member> boundary;
  std::vector<member> downstream;  // members that the outcome influences; never levers
  std::vector<lever> levers;       // most promising first
  graph_average structure;         // over all columns; dropped twins and restating factors have no edges
  pdag graph;                      // undirected below 500 runs, except for edges that are known beforehand
  explanation causes;
  std::vector<ambiguous_edge> open_edges;
};

analysis analyse(const table& data, variable target, const analysis_options& options);

// How far the analysis may go with this number of runs. If that is not the last stage, appends the reason to `remarks`.
stage stage_for(const table& data, variable target, std::vector<std::string>& remarks);

// One sentence on the effect: the outcome's mean, or the share of its last level, in the lowest and the highest third
// of a continuous factor, or in each level of a discrete one.
std::string effect_words(const table& data, variable target, variable factor);

}  // namespace digd::causal
