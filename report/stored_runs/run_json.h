// A stored run as JSON, as /v1/runs and `digctl runs` show it: docs/operate.md has the members. Pure functions.
// Everything that a client chose is escaped; its hello is JSON already and stays as it is.
#pragma once

#include <vector>

#include "archive/browser.h"
#include "base/json_writer.h"

namespace digd::stored {

// The object of a run in a list.
void write_run(json_writer& to, const archive::run_row& run, const archive::run_tally& tally);
// The object of one run: also its rules, sessions, labels and settings, and what shadow would have done.
void write_run_details(json_writer& to, const archive::run_row& run, const archive::run_tally& tally,
                       const std::vector<archive::detection_count>& counts);

}  // namespace digd::stored
