// Shapley values as suspicions (report/document.h), for reports and `digctl attribute shapley`.
#pragma once

#include <string>
#include <string_view>

#include "analysis/shapley/report.h"
#include "report/document.h"
#include "report/observed.h"

namespace digd::report {

// Sets `scale`, `suspects` (at most 5, the highest φ first) and `candidates`. An activation with φ > 0 gets evidence,
// `remedy` (what to try) and a quote. The quote is the text of one of its outputs in `trace`: one that a failure in
// `seen` is about, otherwise one that a warning is about, otherwise any. An empty trace gives no quotes. There are no
// suspects if the actions added no risk.
void add_suspects(part& into, const shapley::report& r, std::string_view trace, const observed& seen,
                  const std::string& remedy);

}  // namespace digd::report
