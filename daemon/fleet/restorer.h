// Restores runs of other homes from the stream into this daemon's archive, several with one scan. For each run:
//
//   1. It publishes a `run_moved`. Whatever the old home publishes after that is void.
//   2. It reads the entries before the `run_moved` that count (homes/run_parts.h), and archives them with their
//      original texts.
//   3. It publishes how many entries it kept (`run_restored`).
//
// The archive then has the run as if it had been there from the beginning. If the stream has no entries of the run, the
// run begins again. A home publishes a piece of its archive again if publishing it failed, so entries may come in
// another order.
//
// Thread: one at a time; it waits for the stream and for the archive. Bounds: `max_runs` in one scan; the entries go
// into the archive's queue, which is bounded; `max_early` entries of a run wait for those before them. Failure: by run,
// in words. The adoption of a run that is not whole stays incomplete in homes.db until `remove_incomplete` has removed
// what was archived of it. Nobody reads such a run. Lifetime: the archive, its producer, the store and what the
// callbacks use outlive it.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "archive/entry_stream.h"
#include "daemon/fleet/home_store.h"
#include "daemon/fleet/homes/home_records.h"
#include "daemon/fleet/homes/run_parts.h"
#include "daemon/fleet/stream.h"
#include "daemon/fleet/stream_entry.h"

namespace digd::daemon {

class restorer {
 public:
  static constexpr std::size_t max_runs = 256;
  static constexpr std::size_t max_early = archive::entry_stream::max_rows;  // as many as a piece has
  static constexpr std::chrono::milliseconds retry_push{1};                  // while the archive's queue is full

  struct result {
    std::string problem;        // not empty: it failed
    std::uint64_t entries = 0;  // kept; 0: the stream has nothing of the run, which begins again
    std::uint64_t marker = 0;   // the sequence number of its `run_moved`
  };

  // Waits until what was pushed before is durable. Empty, or a problem in words.
  using barrier = std::function<std::string()>;

  restorer(archive::archive& into, archive::producer& producer, home_store& store, std::string archive_name,
           barrier durable, std::function<bool()> stopping)
      : into_(into),
        producer_(producer),
        store_(store),
        archive_name_(std::move(archive_name)),
        durable_(std::move(durable)),
        stopping_(std::move(stopping)) {}

  // As many results as runs.
  std::vector<result> restore(stream& from, const std::vector<run_record>& runs);
  // Removes the parts of runs that failed restores of this or an earlier process left in the archive. Empty, or a
  // problem in words: then call it again.
  std::string remove_incomplete();

 private:
  struct part {
    const run_record& home;
    run_parts parts;
    result done;
    std::map<std::uint64_t, archive::entry_ptr> early = {};  // entries that wait for those before them, by `n`
  };
  std::string body(const run_record& run, std::string_view kind, std::uint64_t entries) const;
  void mark(stream& to, std::deque<part>& parts);
  void take(std::deque<part>& parts, const stream_message_fields& message);
  void take(part& at, const stream_message_fields& message, const stream_line& line);
  static void end_epoch(part& at);
  std::string keep(part& at, archive::entry_ptr entry);
  void complete(stream& to, std::deque<part>& parts);
  void complete(stream& to, part& at, const stream_bounds& has);
  bool push(archive::entry_ptr entry);

  archive::archive& into_;
  archive::producer& producer_;
  home_store& store_;
  const std::string archive_name_;
  const barrier durable_;
  const std::function<bool()> stopping_;
};

}  // namespace digd::daemon
