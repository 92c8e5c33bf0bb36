// The hierarchical causal graph of a run (CHIEF, section 4.1), built without a language model: subtasks, the agents in
// them with observation, thought, action and result (OTAR), and edges on three levels. Indices are steps of the log.
//
// Subtasks are the branches of problem-generating activations if the log has a DIG; else they follow a planner's plans
// and instructions, or headings and shifts of topic in a conversation. Every step is in exactly one subtask. Only
// branches may interleave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/chief/flat_log.h"

namespace digd::chief {

// One agent in one subtask. Texts are excerpts of at most 200 bytes.
struct otar {
  std::string agent;
  std::string observation, thought, action, result;
  std::vector<std::size_t> steps;
};

struct subtask {
  std::string name;
  std::vector<std::size_t> steps;
  std::vector<otar> agents;
};

// A counterfactual pattern: `bias` at the upstream end leads to `anomaly` at the downstream end; without the bias there
// would be no anomaly.
struct counterfactual {
  std::string bias, anomaly;
};

struct subtask_edge {
  std::size_t from, to;  // indices of subtasks
  bool data = false;     // values of one are used in the other; else only their order
  counterfactual pattern;
};

struct agent_edge {
  std::size_t subtask;
  std::string from, to;
  std::string type;  // decision, observation, feedback, continuation
  counterfactual pattern;
};

// Step `to` uses values that `from` was the first to give; at most 8 of them are named.
struct step_edge {
  std::size_t from, to;
  std::vector<std::string> carried;
  counterfactual pattern;
};

// Repeated instructions to one executor, with their results (section 4.3.2).
struct loop_group {
  std::string executor;
  std::vector<std::size_t> instructions, results;
  bool plan_changes = false;       // whether the instructions differ
  bool failures_reported = false;  // whether a result before the last instruction reports a failure
};

struct hierarchy {
  std::vector<subtask> subtasks;
  std::vector<subtask_edge> subtask_edges;
  std::vector<agent_edge> agent_edges;
  std::vector<step_edge> step_edges;  // at most 6 a step, those with the most values
  std::vector<loop_group> loops;
  std::vector<std::optional<std::size_t>> subtask_of;  // step to subtask
};

hierarchy build_hierarchy(const flat_log&);

// Rebuilds the graph over other subtasks, say of a language model. They have names and steps; every step is in one.
void regroup(hierarchy&, const flat_log&, std::vector<subtask> subtasks);

}  // namespace digd::chief
