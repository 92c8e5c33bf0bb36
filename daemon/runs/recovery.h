// Restores runs from the archive: feeds their stored entries to a new inbox, in the order in which they were applied.
//
// Threads: `read_back` any, one call at a time for each run; the host goes to its engine thread afterwards. Failure: in
// words; a run whose record is damaged is not opened.
#pragma once

#include <memory>
#include <string>

#include "archive/archive.h"

namespace digd::daemon {

class engine_thread;
class engine_threads;
class run_host;

// Null: the run cannot be read; `why` has the reason.
std::shared_ptr<run_host> read_back(engine_thread& owner, const archive::archive& store, const archive::stored_run& run,
                                    std::string& why);

// Restores all runs before the engine threads start, with one worker for each. Of ended runs it restores only the name.
// A run that cannot be read is logged, and a hello for its name is refused.
void recover_all(const archive::archive& store, const engine_threads& threads);

}  // namespace digd::daemon
