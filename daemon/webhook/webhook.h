// One webhook: a queue of callbacks for each run, the posts in progress, and the retries.
//
//   archive → filter → webhooks.db → queue of the run → post → delivered, or retried later, or a dead letter
//
// It posts the first callback of a run's queue; the next one waits until the first is delivered or dead. It serves runs
// in the order in which they became due, so that no run holds up another.
// Thread: the webhooks'. Lifetime: held by the server and by its pending operations. Bounds: `max_waiting` callbacks in
// memory and in webhooks.db, at which it reads no more of the archive until half of them are done; `concurrency` posts
// in progress. Failure: it logs what it cannot read or write, and tries again. A delivered callback that it cannot
// delete from webhooks.db is sent twice if digd is killed meanwhile.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "archive/callback_reader.h"
#include "base/entropy.h"
#include "base/log_rate_limit.h"
#include "base/random.h"
#include "daemon/metrics/webhook_counts.h"
#include "daemon/webhook/alert_limits.h"
#include "daemon/webhook/ended_runs.h"
#include "daemon/webhook/hold_links.h"
#include "daemon/webhook/post_attempt.h"
#include "daemon/webhook/target.h"
#include "daemon/webhook/webhook_store.h"

namespace digd::daemon {

// The answer of /v1/webhooks for one webhook.
struct webhook_status {
  std::string name, shown_url, format;
  std::vector<std::string> send, rules, severities, labels, runs;
  std::uint64_t posted = 0, failed = 0, retried = 0, died = 0, dead_dropped = 0;
  std::uint64_t joined = 0, rate_waits = 0;
  std::uint64_t waiting = 0, under_way = 0, unread = 0, dead = 0;
  std::uint64_t retrying = 0;       // runs whose next callback has failed before
  std::int64_t last_posted_ms = 0;  // Unix; 0: none since the start
  std::int64_t last_failed_ms = 0;
  std::string last_failure;
};

class webhook final : public std::enable_shared_from_this<webhook> {
 public:
  static constexpr std::size_t max_waiting = 10'000;

  webhook(boost::asio::io_context& context, archive::callback_reader& reads, webhook_store& store,
          const hold_links& links, std::shared_ptr<const target> target, archive::callback_position position,
          std::function<void()> wants_more);
  ~webhook() { lookup_->close(); }
  webhook(const webhook&) = delete;
  webhook& operator=(const webhook&) = delete;

  const std::string& name() const { return target_->settings.name; }
  bool exports_spans() const { return target_->settings.format == "otlp"; }
  std::shared_ptr<const webhook_counts> counted() const { return counts_; }

  // Reads the callbacks that waited when the daemon stopped, and posts none yet. Call it in a transaction of the store.
  archive::failure load();
  // A changed receiver gets the waiting callbacks at once.
  void change(std::shared_ptr<const target> target);

  // Reads the next piece of the archive, whose last rows are at `end`. Returns whether there is more, and room for it.
  bool read_archive(const archive::callback_position& end);
  // For [otlp_export]: queues the runs that have ended since the last call. It looks at most once a second. Returns
  // whether it must be called again.
  bool read_ended_runs();
  void send();
  void remove_run(std::uint64_t run_number);  // the run was deleted
  // Queues the oldest dead letters again, as many as there is room for.
  archive::failure revive(std::uint64_t& revived);
  webhook_status status();

  // `stop` starts no more posts; `abort` also ends those in progress.
  void stop();
  void abort();
  bool is_busy() const { return in_progress_ > 0; }

 private:
  using clock = std::chrono::steady_clock;
  struct run_queue {
    std::deque<stored_callback> waiting;
    clock::time_point due{};                // valid while it is in `due_`
    std::int64_t failed_reads = 0;          // of the first callback's text, in a row
    std::string final_problem;              // why the first callback is dead, until webhooks.db has this; else empty
    std::shared_ptr<post_attempt> attempt;  // posts the first callback
  };

  void add_to_queues(std::vector<stored_callback>&& callbacks);
  void enqueue(std::vector<stored_callback>&& callbacks);
  void begin(std::uint64_t run_number);
  void read_again_later(std::uint64_t run_number, run_queue& queue, const boost::system::error_code& ec);
  void post(std::uint64_t run_number, run_queue& queue, archive::callback_text&& callback,
            const archive::callback_reader::labels& labels);
  void finished(std::uint64_t run_number, std::int64_t id, const post_result& result);
  void delivered(std::uint64_t run_number, run_queue& queue);
  void failed(std::uint64_t run_number, run_queue& queue, const post_result& result);
  void make_dead_letter(std::uint64_t run_number, run_queue& queue, const std::string& problem);
  void remove_first(std::uint64_t run_number, run_queue& queue);
  void delete_stored(std::int64_t id);
  void delete_stored();
  bool has_room();
  void count_waiting();
  void schedule(std::uint64_t run_number, run_queue& queue, clock::time_point due);
  void send_at(clock::time_point time);
  void log_failure(const stored_callback& callback, const std::string& problem);
  void log_if_failed(const archive::failure& failed);
  void log_unreadable(const boost::system::error_code& ec);
  void count_dead();
  bool matches(const archive::callback_row& row, boost::system::error_code& ec);
  archive::failure load_ended_runs();
  std::string body_of(const stored_callback& about, const archive::callback_text& callback,
                      const archive::callback_reader::labels& labels) const;
  bool is_final(const post_result& result) const;
  bool is_for_people() const;
  bool joins_group(const archive::callback_row& row, std::optional<alert_limits>& changed, std::uint64_t& joined) const;
  bool waits_for_rate();
  bool waits_after_error();
  std::string link_of(const stored_callback& about, const archive::callback_text& callback) const;

  boost::asio::io_context& context_;
  archive::callback_reader& reads_;
  webhook_store& store_;
  const hold_links& links_;
  std::shared_ptr<const target> target_;
  archive::callback_position position_;
  ended_runs ends_;
  clock::time_point next_end_check_{};
  alert_limits alerts_;
  const std::shared_ptr<host_lookup> lookup_;
  const std::function<void()> wants_more_;  // called when there is room again and the archive has more
  boost::unordered_flat_map<std::uint64_t, std::unique_ptr<run_queue>> queues_;  // by run; none is empty
  std::set<std::pair<clock::time_point, std::uint64_t>> due_;  // when to serve the queues that have no post in progress
  std::size_t waiting_ = 0, in_progress_ = 0;
  bool is_full_ = false;                 // from `max_waiting` callbacks until half of them are done
  bool waits_for_rate_ = false;          // the next post waits for `rate`
  clock::time_point pause_until_{};      // after a failed write
  std::vector<std::int64_t> undeleted_;  // delivered callbacks that webhooks.db still has
  net::steady_timer timer_;
  enum class random_purpose : std::uint8_t { jitter };
  random_stream random_{random_seed(), random_purpose::jitter, 0};
  std::shared_ptr<webhook_counts> counts_;
  std::int64_t last_posted_ms_ = 0, last_failed_ms_ = 0;
  std::string last_failure_;
  log_rate_limit failure_log_{1}, error_log_{1}, recovery_log_{1};
  bool stopping_ = false;
};

}  // namespace digd::daemon
