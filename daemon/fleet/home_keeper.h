// Holds this daemon's lease in its fleet, and finds the homes of runs (daemon/fleet/homes). docs/fleet.md has the
// promises.
//
// Threads of its own: one renews the lease, one searches homes, one restores runs from the stream. So neither a search
// nor a long restore delays a renewal. Any thread may call everything but `open`, `start` and `stop`. Engine threads
// never wait: `ask` queues the question, and `may_judge` reads two atomics and the clock.
// Bounds: `max_questions` wait; at most `max_elsewhere` runs whose clients were sent elsewhere are remembered. Beyond
// these limits a question is answered `unavailable`, and the oldest remembered run is forgotten. Failure: `problem`;
// answers carry their reason. A connection that has ended permanently, or that failed `max_failures` times in a row, is
// replaced.
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "archive/archive.h"
#include "daemon/fleet/bucket.h"
#include "daemon/fleet/fleet_settings.h"
#include "daemon/fleet/home_store.h"
#include "daemon/fleet/homes/home_search.h"
#include "daemon/fleet/homes/host_lease.h"
#include "daemon/fleet/restorer.h"
#include "daemon/fleet/stream.h"
#include "daemon/metrics/home_counts.h"

namespace digd::daemon {

struct home_answer {
  home_decision::kind is = home_decision::kind::unavailable;
  std::uint64_t number = 0;      // of this daemon's copy of the run; no meaning if the home is elsewhere
  std::uint64_t generation = 0;  // of the lease on which the home rests
  bool pinned = false;
  std::string url, problem;
};

// The home of a run, for people.
struct home_place {
  std::string host, url;  // `url` is empty if the host is not known to the fleet
  std::uint64_t epoch = 0;
  bool pinned = false, is_here = false;
};

class home_keeper {
 public:
  static constexpr std::size_t max_questions = 10'000;
  static constexpr std::size_t max_active = 64;  // searches at the same time
  static constexpr std::size_t max_elsewhere = 10'000;
  static constexpr std::chrono::milliseconds max_lease_wait{5'000};  // of a question, until the lease is held
  static constexpr std::chrono::seconds retry_restore{30};           // of a run that could not be restored
  static constexpr std::chrono::seconds retry_removal{1};            // of deleted runs' homes, after a failure
  static constexpr int max_failures = 8;                             // in a row, before a connection is replaced
  using answer_handler = std::function<void(home_answer&&)>;

  explicit home_keeper(const fleet_settings& settings) : settings_(settings) {}
  ~home_keeper() { stop(); }

  // Returns a problem in words, or an empty string. `into`, the archive to which runs are restored, outlives this
  // object.
  std::string open(const std::string& store_path, const std::string& archive_name, archive::archive& into,
                   std::int64_t published);
  // `on_change` is called when the lease is lost or held again, on a thread of this object.
  void start(std::function<void()> on_change);
  void stop();

  // Finds the home of the run, or takes it. `number`: of this daemon's copy; 0: it has none. `answer` is called once,
  // either within this call or later on a thread of this object.
  void ask(const std::string& run, std::uint64_t number, answer_handler answer);
  // What the fleet knows about the run's home. nullopt: there is no home, or NATS does not answer. It waits for NATS,
  // so engine threads must not call it.
  std::optional<home_place> look_up(const std::string& run) const;
  // Gives up the home of a run that was deleted here.
  void forget(const std::string& run, std::uint64_t number);
  // Calls `on_change` after the next renewal.
  void check_again() { check_again_ = true; }
  // Notes that the run's home is elsewhere, so the local copy no longer counts as the run.
  void note_moved(std::uint64_t number);

  // ---- without waiting
  bool may_judge(std::uint64_t generation) const {
    const std::int64_t until = judge_until_.load(std::memory_order_acquire);
    return generation == generation_.load(std::memory_order_acquire) && now().count() < until;
  }
  std::uint64_t generation() const { return generation_.load(); }
  const std::string& url() const { return settings_.url; }
  // Acks wait for the stream, unless runs are pinned.
  bool acks_from_stream() const { return !settings_.pins_runs(); }
  // Whether the archive's copy does not count as the run, because the run's home is elsewhere or the copy is
  // incomplete.
  bool is_left_out(std::uint64_t number) const { return store_.has_moved(number) || store_.is_incomplete(number); }
  // Notes that the stream has stored the entries up to this one.
  void note_published(std::int64_t entry) { published_ = entry; }
  std::int64_t published() const { return published_.load(); }
  home_store& store() { return store_; }
  const home_store& store() const { return store_; }
  // Notes that every entry before the barrier is durable (archive::entry_kind::barrier). Called on the archive's writer
  // thread.
  void on_barrier(std::uint64_t ticket);

  // From now on this daemon takes no more homes.
  void begin_drain();
  // Gives up the lease. False: that took longer than `max_wait`. The lease then lapses by itself.
  bool drain(std::chrono::milliseconds max_wait);

  const home_counts& counted() const { return counts_; }
  std::string problem() const;

 private:
  struct question {
    std::string run;
    std::uint64_t number = 0;
    answer_handler answer;
    home_time asked_at{0}, next_at{0};
    std::uint64_t generation = 0;
    std::unique_ptr<home_search> search;
    bool is_resumed = false;  // the search waits and continues at `next_at`
  };
  struct forgotten_run {
    std::string run;
    std::uint64_t number = 0;
    bool is_logged = false;  // the log says that its home cannot be removed
  };
  struct taken_run {
    question asked;
    run_record home;
  };

  static home_time now();
  void keep_lease();
  bucket_reply carry_out(const bucket_request& request);
  std::shared_ptr<bucket> connect_again(std::string& problem);
  std::shared_ptr<bucket> connected() const;
  std::optional<run_record> read_home(bucket& at, const std::string& run, std::uint64_t* revision = nullptr) const;
  void note_lease(std::unique_lock<std::mutex>& lock);
  void search_homes();
  bool step(question& asked);
  bool begin_search(question& asked, home_search::step& first);
  bool finish(question& asked, const home_decision& decision);
  void reply(question& asked, home_answer&& answer);
  void save_moved();
  void remove_forgotten();
  bool remove_home(bucket& at, forgotten_run& gone) const;
  void restore_runs();
  std::unique_ptr<stream> keep_stream(std::unique_ptr<stream> from, std::string& problem);
  restorer make_restorer();
  void remove_incomplete();
  void restore(std::vector<taken_run>& runs, stream& from);
  void begin_again(taken_run& taken, std::uint64_t start);
  std::string wait_until_durable();

  const fleet_settings settings_;
  std::string archive_name_;
  archive::archive* into_ = nullptr;
  std::unique_ptr<archive::producer> producer_;  // only the restoring thread uses it once it runs
  home_store store_;
  std::function<void()> on_change_;
  home_counts counts_;
  std::atomic<std::int64_t> judge_until_{0};
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::int64_t> published_{0};
  std::atomic<std::uint64_t> stream_end_{0};  // a lower bound of the stream's last sequence number
  std::atomic<bool> stopping_{false}, draining_{false}, check_again_{false};
  int failed_requests_ = 0;  // in a row; only the lease's thread uses it
  int failed_reads_ = 0;     // in a row; only the restoring thread uses it

  mutable std::mutex mutex_;  // guards the rest of this block
  std::condition_variable wake_;
  std::optional<host_lease> lease_;
  bool was_held_ = false;
  std::shared_ptr<bucket> bucket_;
  std::string problem_;
  std::deque<question> questions_;
  std::deque<forgotten_run> forgotten_;
  std::deque<taken_run> taken_;
  std::uint64_t last_barrier_ = 0, passed_barrier_ = 0;

  // ---- of the searching thread
  std::list<question> active_;
  host_watch hosts_;
  boost::unordered_flat_map<std::string, home_time> elsewhere_;
  home_time next_removal_{0};

  boost::unordered_flat_map<std::string, std::pair<home_time, std::string>> not_restored_;  // guarded by mutex_
  std::thread lease_thread_, search_thread_, restore_thread_;
};

}  // namespace digd::daemon
