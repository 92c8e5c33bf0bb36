// Finds each end of a run in the archive once, for [otlp_export].
//
// It finds them by the numbers of runs and not by time, because the wall clock may be set back. An engine thread takes
// a run's number before the run is written, so a run may appear in the archive after one with a higher number. It
// therefore keeps the highest number that it has seen, and the lower numbers without an end: open runs, and numbers
// that the archive lacks. webhooks.db keeps both, so that a restart neither misses nor repeats an end.
//
// Thread: the webhooks'. Bounds: the open runs of the archive, and `max_disorder` numbers that it lacks. Failure: an
// error code, and then nothing has changed.
#pragma once

#include <boost/system/result.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "archive/callback_reader.h"
#include "daemon/webhook/webhook_store.h"

namespace digd::daemon {

class ended_runs {
 public:
  // If a run has not appeared in the archive when this many runs with higher numbers have, it never will.
  static constexpr std::uint64_t max_disorder = 1'000;

  struct changes {
    std::vector<archive::ended_run> ended;  // in the order of their ends
    run_changes runs;
    std::uint64_t upto = 0;
    bool more = false;  // there may be more ends
    bool is_empty(std::uint64_t before) const {
      return ended.empty() && runs.awaited.empty() && runs.settled.empty() && upto == before;
    }
  };

  // Begins at the end of the archive and leaves out the runs that have ended. `known_ms` (Unix): runs that ended after
  // this time are not left out.
  static boost::system::result<changes> begin(archive::callback_reader& reads,
                                              std::optional<std::int64_t> known_ms = std::nullopt);
  // Continues after a restart with what webhooks.db has. Numbers that the archive lacks are settled, because digd does
  // not give them out again.
  static boost::system::result<changes> restore(archive::callback_reader& reads, std::uint64_t upto,
                                                const std::vector<std::uint64_t>& awaited);
  // Finds at most `max_ends` further ends.
  boost::system::result<changes> find(archive::callback_reader& reads, std::size_t max_ends) const;

  void take(const changes& found);
  void forget(std::uint64_t run_number) { awaited_.erase(run_number); }  // the run was deleted
  std::uint64_t upto() const { return upto_; }

 private:
  std::uint64_t upto_ = 0;
  boost::unordered_flat_set<std::uint64_t> awaited_;
};

}  // namespace digd::daemon
