// One webhook at work: what waits for it, in a line for each run; posts under way; when to try again.
//
//   archive → take what is for it → webhooks.db → line of its run → post → done, or again later, or a dead letter
//
// The head of a run's line is posted; the next has to wait until the head is delivered or dead. Runs are served in
// the order in which they became due, so that none holds up another.
// Thread: the webhooks'. Lifetime: held by the server, and by its pending operations. Bounds: `most_waiting` callbacks
// in memory and in webhooks.db (beyond it the archive is read no further), `concurrency` posts under way. Failure: what
// cannot be written to webhooks.db is said and done all the same; after a restart it is sent twice.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "archive/callback_reader.h"
#include "base/log_rate_limit.h"
#include "daemon/webhook/post_attempt.h"
#include "daemon/webhook/target.h"
#include "daemon/metrics/webhook_counts.h"
#include "daemon/webhook/webhook_store.h"

namespace digd::daemon {

// For people and for /v1/webhooks.
struct webhook_status {
  std::string name, shown_url, format;
  std::vector<std::string> send, rules, severities, labels;
  std::uint64_t posted = 0, failed = 0, retried = 0, died = 0, dead_dropped = 0;
  std::uint64_t waiting = 0, under_way = 0, unread = 0, dead = 0;
  std::uint64_t retrying = 0;       // runs whose next callback has failed
  std::int64_t last_posted_ms = 0;  // Unix; 0: not since the start
  std::int64_t last_failed_ms = 0;
  std::string last_failure;
};

class webhook final : public std::enable_shared_from_this<webhook> {
 public:
  static constexpr std::size_t most_waiting = 10'000;

  webhook(boost::asio::io_context& on, archive::callback_reader& reads, webhook_store& store,
          std::shared_ptr<const target> to, archive::callback_position at, std::function<void()> wants_more);
  ~webhook() { names_->close(); }
  webhook(const webhook&) = delete;
  webhook& operator=(const webhook&) = delete;

  const std::string& name() const { return to_->settings.name; }
  std::shared_ptr<const webhook_counts> counted() const { return counts_; }

  archive::failure load();  // what waited when the daemon stopped
  void change(std::shared_ptr<const target> to);

  // Takes the next piece of the archive, which ends at `end` as far as is known. True: there is more, and room for it.
  bool read_on(const archive::callback_position& end);
  void send();
  void forget(std::uint64_t run_number);
  // Sends the oldest dead letters again, as many as there is room for.
  archive::failure revive(std::uint64_t& revived);
  webhook_status status();

  // Begins nothing any more; `abort` ends what is under way too.
  void stop();
  void abort();
  bool is_busy() const { return under_way_ > 0; }

 private:
  using clock = std::chrono::steady_clock;
  struct line {
    std::deque<stored_callback> waiting;
    clock::time_point due{};                // while it is in `due_`
    std::shared_ptr<post_attempt> attempt;  // the head's
  };

  void enqueue(std::vector<stored_callback>&& callbacks);
  void begin(std::uint64_t run_number);
  void post(std::uint64_t run_number, line& of, archive::callback_text&& callback);
  void finished(std::uint64_t run_number, std::int64_t id, const post_result& result);
  void delivered(std::uint64_t run_number, line& of);
  void failed(std::uint64_t run_number, line& of, const post_result& result);
  void bury(std::uint64_t run_number, line& of, const std::string& why);
  void leave(std::uint64_t run_number, line& of);  // the head is dealt with
  void make_due(std::uint64_t run_number, line& of, clock::time_point when);
  void wait();
  void say_failed(const stored_callback& callback, const std::string& why);
  void check(const archive::failure& why);
  void count_dead();
  bool is_taken(const archive::callback_row& row, bool& unreadable);

  boost::asio::io_context& context_;
  archive::callback_reader& reads_;
  webhook_store& store_;
  std::shared_ptr<const target> to_;
  archive::callback_position at_;
  const std::shared_ptr<host_lookup> names_;
  const std::function<void()> wants_more_;  // there is room again, and the archive has more
  boost::unordered_flat_map<std::uint64_t, std::unique_ptr<line>> lines_;  // by run; none is empty
  std::set<std::pair<clock::time_point, std::uint64_t>> due_;              // lines without an attempt under way
  std::size_t waiting_ = 0, under_way_ = 0;
  net::steady_timer timer_;
  std::mt19937_64 chance_{std::random_device{}()};
  std::shared_ptr<webhook_counts> counts_;
  std::int64_t last_posted_ms_ = 0, last_failed_ms_ = 0;
  std::string last_failure_;
  log_rate_limit failures_said_{1}, troubles_said_{1}, recoveries_said_{1};
  bool stopping_ = false;
};

}  // namespace digd::daemon
