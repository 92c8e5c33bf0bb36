// Who made the decisive error, and when: CHIEF without a model (the default method of `digctl attribute chief`).
//
//   graph → oracles → backtracking (subtask → agent → step) → screening → ranking
//
// A contradiction that screening proves and nothing later excuses decides; the earliest first, as the root cause is
// the earliest decisive error (CHIEF, eq. 1). Where nothing is proven, the trained rankers weigh the evaluators. Each
// entry names the stage whose evidence set it apart most, and the evidence. Deterministic.
#pragma once

#include <string>
#include <vector>

#include "analysis/chief/hierarchy.h"
#include "analysis/chief/oracle.h"
#include "analysis/chief/rankers.h"
#include "analysis/chief/screening.h"

namespace digd::chief {

struct evidence {
  stage by;
  std::string says;
  std::vector<std::size_t> steps;  // none: it is about the agent
  double weight = 0;  // in log-odds against the average candidate; infinite in meaning, 0 in number, if proven
};

struct suspect {
  std::string agent;
  std::size_t step = 0;
  double probability = 0;  // among all candidates; the model's, not a calibrated one
  stage decided_by = stage::local;
  bool proven = false;
  bool candidate = false;  // backtracking reached it: its subtask, its agent and the step itself are discrepant
  std::vector<evidence> chain;
};

struct backtracking {
  std::vector<virtual_oracle> oracles;                      // one a subtask
  std::vector<verdict_of_subtask> verdicts;                 // one a subtask
  std::vector<std::pair<std::size_t, std::string>> agents;  // discrepant: subtask and agent
  std::vector<std::size_t> steps;                           // discrepant
};

struct attribution {
  hierarchy graph;
  backtracking back;
  std::vector<finding> findings;
  std::vector<suspect> ranking;                        // most suspect first; every step that can be blamed
  std::vector<std::pair<std::string, double>> agents;  // most suspect first
};

attribution attribute(const flat_log&, const ranker_set& = committed_rankers());

// Subtask → agent → step (CHIEF, section 4.2.2).
backtracking backtrack(const flat_log&, const hierarchy&, const std::vector<finding>&);

// For people: the `top` first entries with their chains; and the graph.
std::string describe(const flat_log&, const attribution&, std::size_t top);
// The same for machines, the whole graph included.
std::string to_json(const flat_log&, const attribution&, std::size_t top);

}  // namespace digd::chief
