// CHIEF's ranking as suspicions (report/document.h), for reports and `digctl attribute chief`.
#pragma once

#include "analysis/chief/attribute.h"
#include "report/document.h"

namespace digd::report {

// Sets `scale`, `suspects` (at most `max_rows`) and `candidates`. Scores that are not calibrated rank nobody. Only
// proven findings and evaluators that accuse are evidence.
void add_suspects(part& into, const chief::flat_log& log, const chief::attribution& a, std::size_t max_rows);

}  // namespace digd::report
