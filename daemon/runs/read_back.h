// Reads a run back from the archive: feeds its stored entries to a new inbox, in the order in which they were applied.
//
// Threads: any, one call at a time for each run; the host goes to its engine thread afterwards. Failure: in words; a
// run whose record is damaged is not opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "archive/archive.h"

namespace digd::daemon {

class engine_loop;
class run_holder;
class run_host;

struct recovered_run {
  std::shared_ptr<run_host> host;  // null: the run cannot be read
  std::string problem;             // the reason, if `host` is null
  // In a fleet whose acks wait for the stream: the messages that the stream did not have yet when the run was read.
  struct unpublished {
    std::int64_t entry = 0;
    std::string session;
    std::uint64_t seq = 0;
  };
  std::vector<unpublished> unpublished_messages;
  bool has_older_semantics = false;  // it was archived under older semantics, and continues under the current ones
};

// `owner` and `holder` are those of the new host, and outlive it.
recovered_run read_back(engine_loop& owner, run_holder& holder, const archive::archive& store,
                        const archive::stored_run& run);

}  // namespace digd::daemon
