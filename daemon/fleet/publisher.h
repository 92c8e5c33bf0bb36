// Publishes what the archive stores to the stream of a fleet: each entry once it is durable, in the order of writing,
// and each deletion of a run. docs/fleet.md describes the messages and the promises.
//
// It reads the archive through a connection of its own and has a thread of its own, so neither an engine thread nor the
// archive's writer waits for the stream. While the stream is away or full, the archive keeps what waits.
// Threads: `start` and `stop` one, in turn; `wake`, `forget`, `counted` and `problem` any. Lifetime: stopped before the
// archive closes. Bounds: one piece of the archive at a time (archive/entry_stream.h); `max_deletions` deleted runs
// wait in memory, and all of them in fleet.db. Failure: `start` returns a sentence; later problems are logged, counted,
// shown by `problem`, and tried again after a growing pause.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "archive/entry_stream.h"
#include "daemon/fleet/fleet_settings.h"
#include "daemon/fleet/publish_store.h"
#include "daemon/fleet/stream.h"
#include "daemon/metrics/publisher_counts.h"

namespace digd::daemon {

class publisher {
 public:
  static constexpr std::chrono::milliseconds first_pause{500}, max_pause{30'000};
  static constexpr std::chrono::seconds idle_check{5};  // looks at the archive even if nobody wakes it
  static constexpr std::uint64_t max_quiet_lag = 10'000;
  static constexpr std::size_t max_deletions = 10'000;

  // `store_path`: the path of fleet.db, which it creates.
  publisher(const fleet_settings& settings, std::string archive_path, std::string store_path);
  ~publisher() { stop(); }

  // Returns a problem in words, and then nothing runs; otherwise an empty string.
  std::string start();
  void stop();

  void wake();                            // the archive has stored something
  void forget(std::uint64_t run_number);  // the run was deleted
  const publisher_counts& counted() const { return counts_; }
  bool is_on() const { return !settings_.servers.empty(); }
  // Why the stream lags, for people; empty if it does not.
  std::string problem() const;

 private:
  std::string open();
  void work();
  std::string connect();
  std::string publish_piece(bool& more);
  std::string publish_deletions();
  std::string shorten(archive::streamed_entry& entry);
  void find_deleted_runs();
  void set_problem(const std::string& problem);
  void pause(std::chrono::milliseconds duration);
  bool is_stopping() const { return stopping_.load(); }

  const fleet_settings settings_;
  const std::string archive_path_, store_path_;
  std::unique_ptr<archive::entry_stream> reads_;
  publish_store store_;
  std::unique_ptr<stream> stream_;
  publisher_counts counts_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  // guards the four below
  std::condition_variable wake_;
  bool woken_ = false;
  std::vector<std::int64_t> deleted_;
  bool look_for_deleted_ = true;  // also after a start: runs may have been deleted since
  std::string problem_;
  std::thread thread_;
};

}  // namespace digd::daemon
