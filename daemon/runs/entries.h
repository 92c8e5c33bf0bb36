// Makes archive entries of the items of a run's record. Pure functions.
#pragma once

#include "archive/entry.h"
#include "daemon/settings/canary.h"
#include "ingest/protocol/inbox.h"
#include "model/settings.h"

namespace digd::daemon {

// None of these sets `run_number`, `n` or `arrived_ms`; the run's host adds them. `fill_entry` expects an empty entry.
void fill_entry(archive::entry& entry, const ingest::record& record);
archive::entry_ptr opening_entry(const hello& first, const run_settings& settings, canary_group group);
archive::entry_ptr joining_entry(const hello& greeting, std::string_view frame);

}  // namespace digd::daemon
