// Evaluators: a step or an agent as a vector of numbers. No feature is a step's index or a proxy for it; features with
// "first" in their names are about the first failure or conclusion, wherever it is.
//
// Four tables, each an .inc file of FEATURE(name, stage, leaning, bearing, sentence):
//   chat_features.inc          steps of a conversation where every agent speaks to all
//   orchestrated_features.inc  steps of a run with a planner, compared within one agent
//   agent_features.inc         agents of a run with a planner
//   generic_features.inc       steps of a log of any framework
// The first is for CaptainAgent, the next two for Magentic-One (`known_framework`).
#pragma once

#include <string_view>
#include <vector>

#include "analysis/chief/flat_log.h"
#include "analysis/chief/ranker.h"

namespace digd::chief {

struct hierarchy;     // analysis/chief/hierarchy.h
struct backtracking;  // analysis/chief/backtracking.h

// The stages of counterfactual screening (CHIEF, section 4.3), preceded by the virtual oracles (section 4.2).
// `order`: nothing tells the candidates apart, and the earliest leads.
enum class stage { oracle, local, planning_control, data_flow, deviation, order };
std::string_view to_string(stage);

// What an observation says of a step to a person. A `fault` went wrong and supports blame: "its code fails". A
// `circumstance` makes the step more likely to matter: "brings in new values". It orders steps and blames nobody. An
// observation about words, names or the amount of text is a circumstance, because a sentence without an error shows it
// too. Numbers without a source are evidence of their own (analysis/chief/unsourced.h).
enum class bearing { fault, circumstance };

struct feature_info {
  std::string_view name;
  stage by;
  leaning weighs;
  bearing means;
  std::string_view says;
};

const std::vector<feature_info>& chat_features();
const std::vector<feature_info>& orchestrated_features();
const std::vector<feature_info>& agent_features();
const std::vector<feature_info>& generic_features();

struct candidate_rows {
  std::vector<std::size_t> steps;         // steps that can be blamed, ascending
  std::vector<std::vector<double>> rows;  // candidates × features
};
candidate_rows rows_of_chat(const flat_log&);
candidate_rows rows_of_orchestrated(const flat_log&);
candidate_rows rows_of_any(const flat_log&);
// The same for a log whose graph and backtracking are known already.
candidate_rows rows_of_any(const flat_log&, const hierarchy&, const backtracking&);

struct agent_rows {
  std::vector<std::string> agents;        // agents with steps that can be blamed, sorted
  std::vector<std::vector<double>> rows;  // agents × features
};
agent_rows rows_of_agents(const flat_log&);

}  // namespace digd::chief
