// Runs out of the archive, as if they had never stopped: what was stored is fed to a muted inbox in the order applied.
//
// Threads: `read_back` any, one call at a time a run: the host is handed to its engine thread afterwards. Failure: in
// words; a run whose record is damaged is not opened.
#pragma once

#include <memory>
#include <string>

#include "archive/archive.h"

namespace digd::daemon {

class engine_thread;
class engine_threads;
class run_host;

// Null: it could not be read, and `why` says why.
std::shared_ptr<run_host> read_back(engine_thread& owner, const archive::archive& store, const archive::stored_run& run,
                                    std::string& why);

// All runs, before the engine threads start: those not ended are read back, a worker a thread; of the others the
// name is remembered. What cannot be read is logged, and its name is taken: a hello for it is refused.
void recover_all(const archive::archive& store, const engine_threads& threads);

}  // namespace digd::daemon
