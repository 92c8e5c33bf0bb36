// What over many runs makes an outcome come about: gate, boundary, structure, explanation, levers. One call.
//
// How much is said depends on how much there is (`stage`): under 30 runs nothing, to 99 which factors go with the
// outcome, then a boundary, from 500 on directions. `says` tells in words what is held back and why.
// Deterministic for a seed. Cost: seconds for 40 factors and 1,000 runs.
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
  std::size_t bootstrap = 0;  // tabu searches on resampled rows, for a second opinion; 0: none
  variables roots;            // root factors; empty: factors nothing points to
  std::vector<std::pair<variable, variable>> confirmed;  // by experiments; also required in `structure.known`
  double near_deterministic = 0.99;                      // squared correlation from which on two factors are one
};

struct member {
  variable factor = 0;
  double support = 0;       // share of graphs with it in the boundary; 1 or 0 for a single learner
  double p = 1;             // of the factor alone with the outcome, permuted, adjusted for all factors
  double p_given_rest = 1;  // given the rest of the boundary
  double upstream = 0;      // share of graphs in which it leads to the outcome
  double downstream = 0;    // share of graphs in which the outcome leads to it
};

struct lever {
  member facts;
  double nearness = 0;  // of the walk
  evidence grade = evidence::screened;
  bool in_boundary = false;
  bool direction_open = true;
  std::string words;  // what was seen and what to try
};

struct twin_pair {
  variable kept = 0, dropped = 0;
  double r2 = 0;
};

struct analysis {
  stage reached = stage::refused;
  std::vector<std::string> says;  // notes and warnings, for people
  gate_result gate;
  std::vector<twin_pair> twins;
  variables restating;  // factors that are the outcome under another name
  std::vector<member> boundary;
  std::vector<member> downstream;  // members that the outcome leads to: no levers
  std::vector<lever> levers;       // the most promising first
  graph_average structure;         // over all columns of the table; twins and restating ones stay isolated
  pdag graph;                      // as far as it may be told: undirected below 500 runs, but for what is known
  explanation why;
  std::vector<ambiguous_edge> open_edges;
};

analysis analyse(const table& data, variable target, const analysis_options& options);

// How far the number of runs carries for this outcome, and why not further.
stage stage_for(const table& data, variable target, std::vector<std::string>& says);

// The outcome's mean (or the share of its last level) in the lower and upper third of a factor, or by level.
std::string effect_words(const table& data, variable target, variable factor);

}  // namespace digd::causal
