// How right answers are: exact matches, never substrings.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/whowhen/dataset.h"

namespace digd::whowhen {

inline constexpr std::size_t tolerances = 5;  // step ±1 … ±5

// A method's answer to one log. `steps` is ranked, its first is the answer; `agent` may be of another step.
struct answer {
  std::string agent;
  std::vector<std::size_t> steps;
  double seconds = 0;
  std::size_t tokens = 0;
  double cost = 0;
  bool failed = false;  // no answer could be had; counted as wrong
};

// Counts as fractions, so that the expectation of a random answer can be added exactly.
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
// Wilson's, 95%; `hits` of `n` may be an expectation.
interval wilson(double hits, std::size_t n);

void add(tally&, const labelled_log&, const answer&);
// A uniform choice among the steps that are not the user's, and of that step's agent: its expected hits, exactly.
void add_random(tally&, const labelled_log&);

// What needs no understanding; every method has to beat these.
answer first_speaker(const labelled_log&);             // the first step that is not the user's
answer first_acting_step(const labelled_log&);         // the first that neither plans nor states the task
answer most_frequent_tool_agent(const labelled_log&);  // with its first step
answer last_tool_step(const labelled_log&);

// Subset, method, figures. `order` keeps the methods as they were added.
struct results {
  std::map<std::string, std::map<std::string, tally>> by_subset;
  std::vector<std::string> order;
  tally& at(const std::string& subset, const std::string& method);
};
void add_constants(results&, const labelled_log&);

std::string as_table(const results&);
std::string as_json(const results&);
std::string as_svg(const results&);

}  // namespace digd::whowhen
