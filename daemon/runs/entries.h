// Makes archive entries of the items of a run's record. Pure functions.
#pragma once

#include "archive/entry.h"
#include "daemon/settings/canary.h"
#include "ingest/protocol/inbox.h"
#include "model/settings.h"

namespace digd::daemon {

// Fills all but `run_number`, `n` and `arrived_ms`.
archive::entry_ptr entry_of(const ingest::record& record);
archive::entry_ptr opening_entry(const hello& first, const run_settings& settings, canary_group group);
archive::entry_ptr joining_entry(const hello& greeting, std::string_view frame);

}  // namespace digd::daemon
