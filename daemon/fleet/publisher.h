// Publishes what the archive stores to the stream of a fleet: each entry once it is durable, in the order of writing,
// and each deletion of a run. docs/fleet.md describes the messages and the promises.
//
// The publisher reads the archive through its own connection and publishes on its own thread, so neither an engine
// thread nor the archive's writer waits for the stream. While the stream is unreachable or full, unpublished entries
// stay in the archive.
//
// Threads: one thread calls `prepare`, `start` and `stop`, in this order; any may call `wake`, `forget`, `counted`,
// `problem` and `empty_rounds`. Lifetime: stopped before the archive closes. Bounds: one piece of the archive at a time
// (archive/entry_stream.h), and `max_deletions` deleted runs that `forget` named. Beyond that, it finds the deleted
// runs by comparing fleet.db, which lists the published runs, with the archive. Failure: `prepare` and `start` return a
// sentence. The publisher logs and counts later problems, `problem` returns the present one, and the publisher tries
// again after a growing pause. It replaces a connection that has ended permanently, or that failed `max_failures` times
// in a row.
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_set.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "archive/entry_stream.h"
#include "daemon/fleet/fleet_settings.h"
#include "daemon/fleet/home_store.h"
#include "daemon/fleet/publish_store.h"
#include "daemon/fleet/stream.h"
#include "daemon/metrics/publisher_counts.h"

namespace digd::daemon {

class publisher {
 public:
  static constexpr std::chrono::milliseconds first_pause{500}, max_pause{30'000};
  static constexpr std::chrono::seconds idle_check{5};  // looks at the archive even if nobody calls `wake`
  static constexpr std::chrono::seconds announce_every{10};
  static constexpr std::uint64_t max_quiet_lag = 10'000;  // entries; a longer lag is a `problem`
  static constexpr std::size_t max_deletions = 10'000;
  static constexpr std::chrono::seconds count_every{1};  // between two counts of the entries that wait
  static constexpr int max_failures = 8;                 // in a row, before a connection is replaced

  using stream_connector = std::function<std::unique_ptr<stream>(const fleet_settings&, std::string& problem)>;

  // `store_path`: the path of fleet.db, which it creates.
  publisher(const fleet_settings& settings, std::string archive_path, std::string store_path,
            stream_connector connect = connect_stream);
  ~publisher() { stop(); }

  // Returns a problem in words, or an empty string. `prepare` opens the files; `start` calls it if nobody has.
  std::string prepare();
  std::string start();
  void stop();

  void wake();                            // the archive has stored something
  void forget(std::uint64_t run_number);  // the run was deleted
  const publisher_counts& counted() const { return counts_; }
  bool is_on() const { return !settings_.servers.empty(); }
  // Why the stream lags, for people; empty if it does not.
  std::string problem() const;
  // The number of times that the publisher reached the end of the archive and found no entry to publish.
  std::uint64_t empty_rounds() const { return empty_rounds_.load(); }

  // Call before `start`. `open_runs` returns how many runs are open, for the records about this host.
  void count_runs(std::function<std::uint64_t()> open_runs) { open_runs_ = std::move(open_runs); }
  // After `prepare`.
  const std::string& archive_name() const { return store_.archive_name(); }
  std::int64_t published() const { return store_.position().entry; }
  // Only before `start`. `homes` must outlive the publisher: it names the runs that this daemon took over and those
  // that moved away. The publisher calls `on_published` on its thread, with the entries that the stream has stored.
  using published_handler = std::function<void(std::span<const archive::streamed_entry>)>;
  void serve_homes(home_store& homes, published_handler on_published) {
    homes_ = &homes;
    on_published_ = std::move(on_published);
  }

 private:
  void work();
  std::string connect();
  std::string publish_piece(bool& more);
  std::string publish_deletions();
  std::string complete_deletion(std::int64_t number);
  bool add_origin(archive::streamed_entry& entry) const;
  std::string deletion_of(std::int64_t number) const;
  void find_deleted_runs();
  void count_lag();
  void replace_connection();
  void announce(bool stopping);
  void set_problem(const std::string& problem);
  void pause(std::chrono::milliseconds duration);
  bool is_stopping() const { return stopping_.load(); }

  const fleet_settings settings_;
  const std::string archive_path_, store_path_;
  const stream_connector connect_to_stream_;
  std::unique_ptr<archive::entry_stream> reads_;
  publish_store store_;
  std::unique_ptr<stream> stream_;
  publisher_counts counts_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> empty_rounds_{0};
  mutable std::mutex mutex_;  // guards has_work_, deleted_, found_, must_find_deleted_ and problem_
  std::condition_variable wake_;
  bool has_work_ = false;
  std::deque<std::int64_t> deleted_;
  // Deleted runs that `find_deleted_runs` found. `forget` may name such a run again when homes.db no longer knows it.
  boost::unordered_flat_set<std::int64_t> found_;
  bool must_find_deleted_ = true;  // also after a start: runs may have been deleted since
  std::string problem_;
  home_store* homes_ = nullptr;
  published_handler on_published_;
  std::function<std::uint64_t()> open_runs_;
  const std::int64_t started_ms_;
  std::chrono::steady_clock::time_point next_announcement_{}, next_count_{};
  int failures_ = 0;  // in a row, of this connection
  bool is_prepared_ = false;
  std::thread thread_;
};

}  // namespace digd::daemon
