// Shapley values as suspicions (report/document.h), for reports and `digctl attribute shapley`.
#pragma once

#include <string>
#include <string_view>

#include "analysis/shapley/report.h"
#include "report/document.h"

namespace digd::report {

// Sets `scale`, `suspects` (at most 5, the highest φ first) and `candidates`. An activation with φ > 0 has evidence,
// and `remedy` says what to try. `trace` gives the quotes; empty: no quotes. There are no suspects if the actions added
// no risk.
void add_suspects(part& into, const shapley::report& r, std::string_view trace, const std::string& remedy);

}  // namespace digd::report
