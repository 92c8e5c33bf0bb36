// What a step shows, as numbers: the deterministic evaluators. No feature is a step's index or stands for one; those
// with "first" are about what happened first (a failure, a conclusion), wherever that is.
//
// Three tables, each an .inc of FEATURE(name, stage, leaning, what it says):
//   chat_features.inc          steps of a conversation where all speak to all
//   orchestrated_features.inc  steps of a run with a planner, compared within one agent
//   agent_features.inc         agents of a run with a planner
#pragma once

#include <string_view>
#include <vector>

#include "analysis/chief/flat_log.h"
#include "analysis/chief/ranker.h"

namespace digd::chief {

// The stages of counterfactual screening (CHIEF, section 4.3), and the oracle's before them.
enum class stage { oracle, local, planning_control, data_flow, deviation };
std::string_view to_string(stage);

struct feature_info {
  std::string_view name;
  stage by;
  leaning weighs;
  std::string_view says;
};

const std::vector<feature_info>& chat_features();
const std::vector<feature_info>& orchestrated_features();
const std::vector<feature_info>& agent_features();

struct candidate_rows {
  std::vector<std::size_t> steps;  // that can be blamed, in order
  std::vector<std::vector<double>> rows;
};
candidate_rows rows_of_chat(const flat_log&);
candidate_rows rows_of_orchestrated(const flat_log&);

struct agent_rows {
  std::vector<std::string> agents;  // those with steps that can be blamed, sorted
  std::vector<std::vector<double>> rows;
};
agent_rows rows_of_agents(const flat_log&);

// From an instruction to the one before it: how alike they are, 0 to 1; 0 if there is none before.
std::vector<double> likeness_of_instructions(const flat_log&);

// The answer that the run gave ("FINAL ANSWER: …"), empty if none.
std::string_view final_answer(const flat_log&);

// Text that says the run's task anew to all ("# General Task … from manager").
bool is_brief(std::string_view lower_text);
// The task as a brief describes it.
std::string_view described_task(std::string_view text);

// Text that concludes, assumes, fails, asks to end … by its wording. `low` is lower case.
bool concludes(std::string_view low);
bool assumes(std::string_view low);
bool speaks_of_failure(std::string_view low);

}  // namespace digd::chief
