// Counterfactual screening (CHIEF, section 4.3), limited to what the log decides exactly: each finding is a
// contradiction in the log, not a likelihood.
//
// It reads assignments `key=number` outside code and links, sums `a+b=c`, quoted terms, reports of failure, and a
// planner's loops. A finding is excused if a later step corrects it.
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
  std::vector<std::size_t> from;  // the steps that prove it, earliest first
  bool excused = false;           // corrected later
  std::size_t excused_by = 0;
};

// Findings in order of their steps. A step that merely takes over a corrupted value is not listed.
std::vector<finding> screen(const flat_log&, const hierarchy&);

// The `key=number` pairs of a text, in order; keys in lower case.
struct assignment {
  std::string key;
  double value;
};
std::vector<assignment> assignments_of(std::string_view text);

}  // namespace digd::chief
