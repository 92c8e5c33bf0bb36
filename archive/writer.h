// The writer thread: takes entries from the queue, commits in groups, reports durable entries, checkpoints the log.
//
// Threads: its own thread runs from construction until `stop`, and makes the callbacks. Any other thread may call
// `stop`; any thread may call `health` and `spare_bytes`. Lifetime: all references outlive it; `stop` returns when its
// thread has ended. Bounds: a batch of `max_batch_entries` and about `max_batch_bytes`; and, until a run is deleted,
// its number if it was set aside. Failure: the writer retries a failed batch with backoff, counts it and reports it in
// `health`; after `stop` it gives up after `stop_ms`. If an entry itself causes the failure, it shrinks the entry or
// sets the run aside. A disk that hangs holds up `stop` too.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_set>

#include "archive/options.h"
#include "archive/spare_entries.h"
#include "archive/store.h"
#include "archive/write_queue.h"

namespace digd::archive {

class writer {
 public:
  using durable_callback = std::function<void(std::span<const durable>)>;

  // Until `stop` has returned, only the writer uses the store.
  writer(const options& options, counters& counted, write_queue& queue, store& into, durable_callback on_durable);
  ~writer() { stop(); }

  void stop();
  std::string health() const;
  std::size_t spare_bytes() const { return spare_.bytes(); }  // any thread

 private:
  using clock = std::chrono::steady_clock;

  class disk_work;

  void work();
  bool write_and_tidy();
  void gather(clock::time_point until);
  bool write();              // false: the batch is not written and must be retried
  bool shrink(entry& item);  // false: it is as small as it gets
  void report(const batch& done);
  void set_aside_from(std::size_t at, const failure& failed);
  void take();
  void drop(batch::iterator from);  // from here to the end of the batch
  void keep_log_short();
  // One small step of deletion: rows, then unused pages, then the log. False: nothing to do now, or the step failed.
  bool tidy();
  void run_gone(std::uint64_t run_number);
  void scrub_log();
  void backoff();
  bool pause(std::chrono::microseconds duration);  // true: `stop` was called
  void set_trouble(std::string& trouble, std::string words);
  std::string health_locked() const;
  std::string hang_problem() const;  // empty: the disk answers, or no entry waits for it

  const options& options_;
  counters& counted_;
  write_queue& queue_;
  store& store_;
  durable_callback on_durable_;

  spare_entries spare_;
  batch batch_;                                  // taken from the queue, not yet durable
  std::unordered_set<std::uint64_t> set_aside_;  // runs that contradict what is stored
  unsigned failures_ = 0;                        // of the current batch, in a row
  int checkpoint_at_ = 0;                        // the number of pages in the log at which to checkpoint
  bool to_scrub_ = false;                        // the log may still contain deleted rows
  clock::time_point scrub_next_{}, tidy_next_{};

  std::atomic<clock::rep> disk_work_since_{0};  // ticks of `clock` when its work on the disk began; 0: no such work

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  clock::time_point give_up_at_;
  std::string write_trouble_, log_trouble_, tidy_trouble_, set_aside_trouble_, stop_trouble_;
  std::once_flag stopped_;
  std::thread thread_;
};

}  // namespace digd::archive
