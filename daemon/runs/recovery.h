// Recovers the open runs after a start: each engine thread reads its runs back (read_back.h), one after the other.
//
// digd listens before the runs are restored. A hello for a run that is not yet restored waits for it (registry.h).
#pragma once

#include "archive/archive.h"

namespace digd::daemon {

class engine_threads;

// Lists the archive's runs to each engine thread: the ended ones, and those that the thread must read back. Called
// before the threads start. Throws std::runtime_error if the archive cannot be read.
void plan_recovery(const archive::archive& store, const engine_threads& threads);

// Reads the open runs back, on each engine thread one after the other.
void begin_recovery(const engine_threads& threads);

}  // namespace digd::daemon
