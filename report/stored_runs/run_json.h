// A stored run as JSON, as /v1/runs and `digctl runs` show it: docs/operate.md has the members. Pure functions;
// whatever a client chose is escaped.
#pragma once

#include <string>
#include <vector>

#include "archive/browser.h"

namespace digd::stored {

// As it stands in a list.
void append_run(std::string& out, const archive::run_row& run, const archive::run_tally& tally);
// By itself: also its rules, sessions, labels, settings, and what shadow would have done.
void append_run_details(std::string& out, const archive::run_row& run, const archive::run_tally& tally,
                        const std::vector<archive::detection_count>& counts);

}  // namespace digd::stored
