// Who made the decisive error, and when: CHIEF (arXiv 2602.23701) without a language model, the default method of
// `digctl attribute chief`.
//
//   graph → oracles → backtracking (subtask → agent → step) → screening → ranking
//
// If screening proves contradictions that no later step excuses, the earliest of them decides, since the root cause is
// the earliest decisive error (CHIEF, eq. 1). If nothing is proven, the trained rankers weigh the evaluators. Each
// entry of the ranking has the chain of evidence and the stage that decided: the stage of the proof, otherwise the one
// with the most evidence.
//
// Deterministic pure functions; indices are steps of the log. Bounds: those of the log (`max_steps`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/chief/backtracking.h"
#include "analysis/chief/hierarchy.h"
#include "analysis/chief/rankers.h"
#include "analysis/chief/screening.h"

namespace digd::chief {

struct evidence {
  stage by;
  std::string says;
  std::vector<std::size_t> steps;  // empty: about the agent
  bool accuses = false;            // something went wrong; other evaluators only order the steps
  double weight = 0;  // log-odds against the average candidate; 0 for proven evidence, which needs no weight
};

struct suspect {
  std::string agent;
  std::size_t step = 0;
  double probability = 0;  // among all candidates, by the model; calibrated if `attribution::calibrated`
  stage decided_by = stage::local;
  bool proven = false;
  bool candidate = false;  // backtracking reached it: its subtask, its agent and the step are discrepant
  std::vector<evidence> chain;
};

struct attribution {
  hierarchy graph;
  backtracking back;
  std::vector<finding> findings;
  bool calibrated = false;       // the probabilities are those of docs/chief.md, Calibration
  std::vector<suspect> ranking;  // every step that can be blamed: proven ones, then by probability
  // The answer, as an index into `ranking`. In a known framework: the most suspect step of the most suspect agent.
  // Otherwise: the most suspect step.
  std::size_t lead = 0;
  std::vector<std::pair<std::string, double>> agents;  // most suspect first
  // Parts of the JSON that decide nothing in this log: printed for people.
  std::vector<std::string_view> diagnostic;
};

attribution attribute(const flat_log&, const ranker_set& = committed_rankers());

// Text for people: a summary of the graph and the `top` first entries with their chains.
std::string describe(const flat_log&, const attribution&, std::size_t top);
// JSON for programs. The graph grows with the log: for 20,000 steps it has some 30 MB.
enum class json_extent { whole, without_graph };
std::string to_json(const flat_log&, const attribution&, std::size_t top, json_extent = json_extent::whole);

}  // namespace digd::chief
