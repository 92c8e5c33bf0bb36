// The hierarchical causal graph of a run (CHIEF, section 4.1): subtasks, the agents within them with what they
// observed, thought, did and got, and edges on three levels. Built without a model; indices are into the log.
//
// Subtasks: branches of problem-generating activations where the log has a DIG; else a planner's plans and
// instructions, or headings and shifts of topic in a flat conversation. They cover all steps without overlap when
// taken from a flat log; branches may interleave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/chief/flat_log.h"

namespace digd::chief {

// Excerpts, each at most 200 bytes.
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

// If the upstream end shows `bias`, the downstream end will show `anomaly`; undoing the bias undoes it.
struct counterfactual {
  std::string bias, anomaly;
};

struct subtask_edge {
  std::size_t from, to;  // indices of subtasks
  bool data = false;     // values of one are used in the other; else only order
  counterfactual pattern;
};

struct agent_edge {
  std::size_t subtask;
  std::string from, to;
  std::string type;  // decision, observation, feedback, continuation
  counterfactual pattern;
};

// Values that `from` was the first to give and `to` uses. At most 8 of them are named.
struct step_edge {
  std::size_t from, to;
  std::vector<std::string> carried;
  counterfactual pattern;
};

// A planner's instruction and what came of it, again and again to the same executor (section 4.3.2).
struct loop_group {
  std::string executor;
  std::vector<std::size_t> instructions, results;
  bool plan_changes = false;       // the instructions differ
  bool failures_reported = false;  // at least one result before the last instruction says that it failed
};

struct hierarchy {
  std::vector<subtask> subtasks;
  std::vector<subtask_edge> subtask_edges;
  std::vector<agent_edge> agent_edges;
  std::vector<step_edge> step_edges;  // at most 6 a step, the richest
  std::vector<loop_group> loops;
  std::vector<std::optional<std::size_t>> subtask_of;  // step to subtask
};

hierarchy build_hierarchy(const flat_log&);

// The same graph over other subtasks, say those that a model cut. They have names and steps; every step is in one.
void regroup(hierarchy&, const flat_log&, std::vector<subtask> subtasks);

}  // namespace digd::chief
