// Makes archive entries of the items of a run's record. Pure functions.
#pragma once

#include <string>

#include "archive/entry.h"
#include "daemon/settings/canary.h"
#include "ingest/protocol/inbox.h"
#include "model/settings.h"

namespace digd::daemon {

// None of these sets `run_number`, `n` or `arrived_ms`; the run's host adds them.
bool has_rows(const ingest::record& record);                        // detections, interventions or outcomes
archive::plain_entry plain_entry_of(const ingest::record& record);  // without the rows; refers to the record
archive::entry_ptr entry_of(const ingest::record& record);
archive::entry_ptr opening_entry(const hello& first, const run_settings& settings, canary_group group);
archive::entry_ptr joining_entry(const hello& greeting, std::string_view frame);

}  // namespace digd::daemon
