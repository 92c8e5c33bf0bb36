// Counterfactual screening (CHIEF, section 4.3) as far as it can be decided exactly from the log: what is found here
// is a contradiction on paper, not a likelihood.
//
// What is read: assignments `key=number` outside code and links, sums `a+b=c`, quoted terms, reports of failure, and
// a planner's loops. What a later step puts right is excused.
#pragma once

#include <string>
#include <vector>

#include "analysis/chief/features.h"
#include "analysis/chief/hierarchy.h"

namespace digd::chief {

struct finding {
  std::size_t step;
  stage by;
  std::string says;
  std::vector<std::size_t> from;  // the steps it rests on, earliest first
  bool excused = false;           // put right later
  std::size_t excused_by = 0;
};

// In order of their steps. Symptoms (a value taken over from a step that corrupted it) are not listed.
std::vector<finding> screen(const flat_log&, const hierarchy&);

// `key=number` pairs of a text, in order; keys in lower case.
struct assignment {
  std::string key;
  double value;
};
std::vector<assignment> assignments_of(std::string_view text);

}  // namespace digd::chief
