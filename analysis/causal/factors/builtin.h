// The built-in factors: what each is, how it is computed from a run, and what a person can try to move it.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "analysis/causal/factors/run_facts.h"

namespace digd::causal {

struct builtin_factor {
  std::string_view name;
  std::string_view text;    // its definition, for docs and `digctl causal factors --list`
  std::string_view advice;  // what to try
  bool is_count = false;    // grows with the run: `--rates` divides it by the activations
  double (*of)(const run_facts&) = nullptr;
};

const std::vector<builtin_factor>& builtin_factors();
const builtin_factor* find_builtin(std::string_view name);
// Empty for a factor that is not built in.
std::string_view advice_for(std::string_view name);

// Whether a built-in factor is a part, the whole or a consequence of another by definition, so that it explains nothing
// about it: each rule's detections are parts of all, idle time is part of the run time, healings come of detections.
bool is_bound_by_definition(std::string_view outcome, std::string_view factor);

double gini(std::vector<double> amounts);  // 0: all alike; towards 1: one has all

}  // namespace digd::causal
