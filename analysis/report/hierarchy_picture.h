// CHIEF's hierarchical graph with its backtracking path: subtasks, their agents, these agents' steps.
#pragma once

#include <string>

#include "analysis/chief/attribute.h"
#include "report/document.h"

namespace digd::report {

// At most 16 subtasks: those that fall short, the suspect's, then the others in order.
figure draw_hierarchy(const chief::flat_log& log, const chief::attribution& of);

// How a step is called: its event's id, else its number.
std::string step_name(const chief::flat_log& log, std::size_t step);

}  // namespace digd::report
