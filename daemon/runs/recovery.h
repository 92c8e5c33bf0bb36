// Restores runs from the archive: feeds their stored entries to a new inbox, in the order in which they were applied.
//
// digd listens before the runs are restored. A hello for a run that is not yet restored waits for it (registry.h).
//
// Threads: `read_back` any, one call at a time for each run; the host goes to its engine thread afterwards. Failure: in
// words; a run whose record is damaged is not opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "archive/archive.h"

namespace digd::daemon {

class engine_thread;
class engine_threads;
class run_host;

struct recovered_run {
  std::shared_ptr<run_host> host;  // null: the run cannot be read
  std::string problem;             // then the reason
  // In a fleet whose acks wait for the stream: messages that it did not have when the run was read.
  struct unpublished {
    std::int64_t entry = 0;
    std::string session;
    std::uint64_t seq = 0;
  };
  std::vector<unpublished> unpublished_messages;
  bool has_older_semantics = false;  // it was archived under older semantics, and continues under the current ones
};

recovered_run read_back(engine_thread& owner, const archive::archive& store, const archive::stored_run& run);

// Lists the archive's runs to each engine thread: the ended ones, and those that the thread must read back. Called
// before the threads start. Throws std::runtime_error if the archive cannot be read.
void plan_recovery(const archive::archive& store, const engine_threads& threads);

// Reads the open runs back, on each engine thread one after the other.
void begin_recovery(const engine_threads& threads);

}  // namespace digd::daemon
