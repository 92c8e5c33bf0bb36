// What was observed, as sections, tables and facts of a report.
#pragma once

#include <vector>

#include "report/document.h"
#include "report/observed.h"

namespace digd::report {

std::vector<fact> facts_of(const observed& seen);
table flow_table(const observed& seen);
section timeline_section(const observed& seen);
section detections_section(const observed& seen);

}  // namespace digd::report
