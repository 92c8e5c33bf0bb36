// The answer on top of a report, before its evidence: what went wrong, who, what now.
#pragma once

#include <string>
#include <vector>

#include "report/conclusion.h"
#include "report/document.h"
#include "report/observed.h"

namespace digd::report {

// Three answers, in the order in which a reader asks. `subject` names the run on a command line.
std::vector<answer_line> answers_of(const observed& seen, const conclusion& concluded, const std::string& subject);

// The detection that needs attention first: the first failure that is not known to have cleared, then the first such
// warning; null: all listed detections cleared.
const reported_detection* first_uncleared(const observed& seen);

// "2 × orphaned event and 1 × deadlock", the most frequent first.
std::string detections_by_rule(const observed& seen);

}  // namespace digd::report
