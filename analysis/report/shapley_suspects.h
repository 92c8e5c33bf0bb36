// Shapley values as suspicions (report/document.h), for reports and `digctl attribute shapley`.
#pragma once

#include <string>
#include <string_view>

#include "analysis/shapley/report.h"
#include "report/document.h"
#include "report/observed.h"

namespace digd::report {

// Sets `scale`, `suspects` (at most 5, the highest φ first) and `candidates`. An activation with φ > 0 has evidence,
// and `remedy` says what to try. `trace` gives the quotes, and `seen` the detections: an activation is quoted with an
// output that a detection is about, failures first, if there is one. An empty trace: no quotes. There are no suspects
// if the actions added no risk.
void add_suspects(part& into, const shapley::report& r, std::string_view trace, const observed& seen,
                  const std::string& remedy);

}  // namespace digd::report
