// The built-in factors: name, definition, computation from a run, and advice on how to move them.
//
// The factors `fired_RULE` come from the rule catalog (rules/rule.h), with its advice.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "analysis/causal/factors/run_facts.h"

namespace digd::causal {

struct builtin_factor {
  std::string_view name;
  std::string_view text;    // definition, for `digctl causal factors --list`
  std::string_view advice;  // what to try; may be empty
  bool is_count = false;    // grows with the run; `--rates` divides it by the number of activations
  double (*of)(const run_facts&) = nullptr;
};

const std::vector<builtin_factor>& builtin_factors();
const builtin_factor* find_builtin(std::string_view name);
// Also for the rates `NAME_per_activation`; empty for a factor that is not built in.
std::string_view advice_for(std::string_view name);

// Whether a factor is a part, the whole or a consequence of the outcome by definition, and so explains nothing: each
// rule's detections are part of all detections, idle time is part of the run time, healings follow from detections.
bool is_bound_by_definition(std::string_view outcome, std::string_view factor);

double gini(std::vector<double> amounts);  // 0: all equal; towards 1: one has everything

}  // namespace digd::causal
