// Restores runs of other homes from the stream into this daemon's archive, several with one scan. For each run it
// publishes a `run_moved`, which fences off what the old home still publishes; takes the entries before it that
// count (homes/run_parts.h); archives them with their original texts; and publishes how many it kept (`run_restored`).
// The archive then has the run as if it had been there from the beginning. If there are none, the run begins again, and
// what its old home still publishes is void.
//
// Thread: one at a time; it waits for the stream and for the archive. Bounds: `max_runs` in one scan; the entries go
// into the archive's queue, which is bounded. Failure: by run, in words; what was archived of such a run is removed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "daemon/fleet/home_store.h"
#include "daemon/fleet/homes/home_records.h"
#include "daemon/fleet/homes/run_parts.h"
#include "daemon/fleet/stream.h"
#include "daemon/fleet/stream_entry.h"

namespace digd::daemon {

class restorer {
 public:
  static constexpr std::size_t max_runs = 256;

  struct result {
    std::string problem;        // not empty: it failed
    std::uint64_t entries = 0;  // kept; 0: the stream has nothing of the run, which begins again
    std::uint64_t marker = 0;   // the sequence number of its `run_moved`
  };

  // Waits until what was pushed before is durable. False: digd stops.
  using barrier = std::function<bool()>;

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
  // Removes what an earlier process did not complete.
  void remove(std::uint64_t run_number);

 private:
  struct part {
    const run_record& home;
    run_parts parts;
    result done;
  };
  std::string body(const run_record& run, std::string_view kind, std::uint64_t entries) const;
  void mark(stream& to, std::vector<part>& parts);
  void take(std::vector<part>& parts, const stream_message_fields& message);
  void complete(stream& to, std::vector<part>& parts);
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
