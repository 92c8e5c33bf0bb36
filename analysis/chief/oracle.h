// Virtual oracles (CHIEF, section 4.2): what a subtask should have achieved, derived from the question, the instruction
// and earlier subtasks, and judged by what the log shows. No language model judges: words, values and executions do.
// That is cheap, and it errs on the side of suspicion.
#pragma once

#include <string>
#include <vector>

#include "analysis/chief/hierarchy.h"

namespace digd::chief {

struct virtual_oracle {
  std::string goal;
  std::vector<std::string> preconditions;  // values from earlier subtasks that this one uses, at most 8
  std::vector<std::string> key_evidence;   // words of the goal that the steps should mention, at most 12
  std::vector<std::string> acceptance;     // sentences, each checked by `judge`
};

struct verdict_of_subtask {
  bool fails = false;
  std::vector<std::string> unmet;  // acceptance criteria that do not hold, with the step
};

std::vector<virtual_oracle> synthesize_oracles(const flat_log&, const hierarchy&);
// One verdict a subtask. `oracles` come from `synthesize_oracles` for the same graph.
std::vector<verdict_of_subtask> judge(const flat_log&, const hierarchy&, const std::vector<virtual_oracle>& oracles);

}  // namespace digd::chief
