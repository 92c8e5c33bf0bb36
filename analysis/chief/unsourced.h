// Numbers that an agent states without a source: neither the task nor a step before gave them, and the agent ran
// nothing that could have. A person can check each of them, so they are evidence against a step.
//
// Pure function over the log's texts; linear in their length.
#pragma once

#include <string>
#include <vector>

#include "analysis/chief/flat_log.h"

namespace digd::chief {

// By step: such numbers, in the order in which the step states them, at most `max_unsourced`. Only numbers with two
// digits in a row count: single digits mostly count the items of a list or name a version. Empty for steps that cannot
// be blamed, that contain code, or that are next to a terminal's output. Empty for all steps of Magentic-One, whose
// executors repeat in their own turns what they read.
inline constexpr std::size_t max_unsourced = 3;
std::vector<std::vector<std::string>> unsourced_numbers(const flat_log&);

}  // namespace digd::chief
