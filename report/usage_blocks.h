// What a run used, as blocks of a report: totals against limits, by agent, where it fanned out, and its holds.
#pragma once

#include <vector>

#include "report/document.h"
#include "report/usage.h"

namespace digd::report {

// Empty for a run that reported no usage and had no guards.
std::vector<block> usage_blocks(const usage_facts& used);

}  // namespace digd::report
