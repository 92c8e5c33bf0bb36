// The picture of CHIEF's hierarchical graph with its backtracking path: subtasks, their agents, the steps of these.
#pragma once

#include <string>

#include "analysis/chief/attribute.h"
#include "report/document.h"

namespace digd::report {

// At most 16 subtasks: the suspect's, those that fall short, then the others.
figure draw_hierarchy(const chief::flat_log& log, const chief::attribution& of);

// The name of a step: its event's id, else its number.
std::string step_name(const chief::flat_log& log, std::size_t step);

}  // namespace digd::report
