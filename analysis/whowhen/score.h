// Scores of answers: exact matches, never substrings.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/whowhen/dataset.h"

namespace digd::whowhen {

inline constexpr std::size_t tolerances = 5;  // steps off by at most 1 … 5

// A method's answer to one log. `steps` is ranked and starts with the answer; `agent` may belong to another step.
struct answer {
  std::string agent;
  std::vector<std::size_t> steps;
  double seconds = 0;
  std::size_t tokens = 0;
  double cost = 0;
  bool failed = false;                // there is no answer; counted as wrong
  std::vector<double> probabilities;  // of `steps`; empty: the method has none
  bool proven = false;                // the answer rests on a contradiction, not on its probability
};

// Counts are fractions, so that the expectation of a random answer adds up exactly.
struct tally {
  std::size_t n = 0, failed = 0;
  double agent = 0, step = 0, top3 = 0, top5 = 0;
  std::array<double, tolerances> within{};
  double seconds = 0, cost = 0;
  std::size_t tokens = 0;
};

struct interval {
  double low, high;
};
// 95% interval of Wilson (1927); `hits` of `n` may be an expectation.
interval wilson(double hits, std::size_t n);

void add(tally&, const labelled_log&, const answer&);
// Adds the exact expectation of a uniform choice among the steps that are not the user's, and of that step's agent.
void add_random(tally&, const labelled_log&);

// Baselines without understanding of the log; every method has to beat them.
answer first_speaker(const labelled_log&);       // the first step that is not the user's
answer first_acting_step(const labelled_log&);   // the first step that neither plans nor states the task
answer busiest_tool_agent(const labelled_log&);  // with its first step
answer last_tool_step(const labelled_log&);

// Figures by subset and method. `order`: methods in order of their addition.
struct results {
  std::map<std::string, std::map<std::string, tally>> by_subset;
  std::vector<std::string> order;
  // By method, one entry a log in order of addition: whether agent and step are right.
  std::map<std::string, std::vector<std::array<bool, 2>>> outcomes;
  tally& at(const std::string& subset, const std::string& method);
};
// Adds an answer to the method's tally of the log's subset and to its outcomes.
void record(results&, const std::string& method, const labelled_log&, const answer&);
void add_constants(results&, const labelled_log&);

std::string as_table(const results&);
// `reference`: with the differences of paired_table, if it is not empty.
std::string as_json(const results&, const std::string& reference = {});
std::string as_svg(const results&);
// The paired 95% intervals of each method's difference to `reference`, over all logs; empty if nothing was recorded of
// the reference. Only methods that answered the same number of logs.
std::string paired_table(const results&, const std::string& reference);

}  // namespace digd::whowhen
