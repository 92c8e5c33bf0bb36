// Backtracking (CHIEF, section 4.2.2): from subtasks that fail their oracles to agents, and from these to steps.
//
// Deterministic pure function; indices are steps of the log. Bounds: those of the log (`max_steps`).
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "analysis/chief/hierarchy.h"
#include "analysis/chief/oracle.h"
#include "analysis/chief/screening.h"

namespace digd::chief {

struct backtracking {
  std::vector<virtual_oracle> oracles;                      // by subtask
  std::vector<verdict_of_subtask> verdicts;                 // by subtask
  std::vector<std::pair<std::size_t, std::string>> agents;  // discrepant pairs of subtask and agent
  std::vector<std::size_t> steps;                           // discrepant steps, ascending
};

// A subtask is also discrepant if screening proved one of its steps wrong.
backtracking backtrack(const flat_log&, const hierarchy&, const std::vector<finding>&);

}  // namespace digd::chief
