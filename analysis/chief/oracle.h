// Virtual oracles (CHIEF, section 4.2): what a subtask should have achieved, written down from the question, the
// instruction and what was known before it, and judged on what the log shows. No model; the judging is by the words,
// values and executions, and is meant to be cheap and to err to the side of suspicion.
#pragma once

#include <string>
#include <vector>

#include "analysis/chief/hierarchy.h"

namespace digd::chief {

struct virtual_oracle {
  std::string goal;
  std::vector<std::string> preconditions;  // values from earlier subtasks that this one uses, at most 8
  std::vector<std::string> key_evidence;   // words of the goal that its steps have to be about, at most 12
  std::vector<std::string> acceptance;     // sentences, each checked by `judge`
};

struct verdict_of_subtask {
  bool fails = false;
  std::vector<std::string> unmet;  // acceptance criteria that do not hold, with why
};

std::vector<virtual_oracle> synthesize_oracles(const flat_log&, const hierarchy&);
// One verdict a subtask. `oracles` are those of `synthesize_oracles` for the same graph.
std::vector<verdict_of_subtask> judge(const flat_log&, const hierarchy&, const std::vector<virtual_oracle>& oracles);

}  // namespace digd::chief
