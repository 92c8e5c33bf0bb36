// The archive: an SQLite store (WAL, synchronous FULL) behind one writer thread that commits in groups.
//
// Threads: `producer`s belong to one engine thread each; everything else may be called from any thread (reads
// use a connection of their own). Failure: opening reports an error; a failing write keeps its batch, is
// retried with backoff, counted and told to `health`; nothing is reported durable before its commit returned.
// Bounds: `options` has them all. What is written, for people: docs/archive.md.
#pragma once

#include <atomic>
#include <boost/system/result.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "archive/entry.h"
#include "archive/error.h"

namespace digd::archive {

// A message that is on disk and synced. Cumulative: all entries of that session up to `seq` are.
struct durable {
  std::uint64_t run_number;
  std::string session;
  std::uint64_t seq;
  bool deleted = false;         // the run is: nothing of it is stored any more, and no session is meant
  std::uint64_t judgement = 0;  // not 0: the ticket of a judgement that is stored; no session is meant
};

struct options {
  std::string path;                      // the database file, created if missing; its folder must exist
  std::size_t queue_entries = 65'536;    // accepted and not yet durable, over all producers; at most 1,000,000
  std::size_t queue_bytes = 256u << 20;  // likewise; an entry larger than this goes alone
  std::size_t producers = 16;            // at most so many at once; each costs queue_entries * 8 bytes
  std::size_t batch_entries = 4'096;     // most in one transaction
  std::size_t batch_bytes = 16u << 20;   // about; one entry more may be over
  unsigned poll_us = 200;                // idle, the writer looks for work this often, then
  unsigned poll_most_us = 1'000;         // ever more rarely up to this
  unsigned gather_us = 10'000;  // from one commit to the next at least: one sync for all that came meanwhile, unless
  std::size_t gather_entries = 256;  // so many wait
  unsigned retry_ms = 50;            // after a failed write, doubled with each failure
  unsigned retry_most_ms = 5'000;
  unsigned stop_ms = 10'000;                           // how long `stop` goes on trying while writes fail
  int checkpoint_pages = 4'096;                        // the log is moved into the file when it has so many (16 MB)
  std::int64_t check_bytes = 64 << 20;                 // files up to this size are checked in full when opened
  std::string vfs;                                     // SQLite's file layer; empty: the default. For fault injection
  std::function<void(int from, int to)> on_migration;  // by `open`, before an older file is brought a version further
  std::function<void(const std::string&)> on_health;   // on the writer thread, whenever `health` changes
};

struct counters {
  std::atomic<std::uint64_t> entries{0}, bytes{0}, commits{0};  // durable
  std::atomic<std::uint64_t> failed_commits{0}, failed_checkpoints{0};
  std::atomic<std::uint64_t> queue_full{0};  // pushes refused
  std::atomic<std::uint64_t> set_aside{0};   // entries of runs that contradict what is stored: never durable
  std::atomic<std::uint64_t> deleted_runs{0};
  std::atomic<std::uint64_t> failed_removals{0};  // steps of a deletion that were tried again
};

struct stored_run {
  std::uint64_t number = 0;
  std::string run;
  std::string hello;  // as of `run_opened`
  std::int64_t opened_ms = 0;
  std::int64_t last_ts = 0;  // the latest stamp or firing
  std::string ended;         // empty while it goes on
  std::uint64_t bytes = 0;   // of JSON stored
};

struct stored_entry {
  entry_kind kind = entry_kind::message;
  std::int64_t id = 0;  // the order of writing
  std::uint64_t n = 0, seq = 0;
  std::string session, type, frame, code;
  std::int64_t ts = 0;
};

class archive;

// One a thread; not thread-safe itself. Keeps the order of what it is given. May outlive the archive; then it
// refuses.
class producer {
 public:
  ~producer();
  // Takes `what`, which is null then. False, with `what` untouched, if the queue is full or the archive stopped: the
  // caller keeps it and tries later.
  bool try_push(entry_ptr& entry);

 private:
  friend class archive;
  struct state;
  explicit producer(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

class archive {
 public:
  // `on_durable` is called on the writer thread after each commit; it must not throw, and must not call
  // `stop`. If it fails, `why` says in words what is wrong.
  static boost::system::result<std::unique_ptr<archive>> open(options options,
                                                              std::function<void(std::span<const durable>)> on_durable,
                                                              std::string* why = nullptr);
  ~archive();  // stops

  std::unique_ptr<producer> make_producer();  // null if there are `options::producers` already
  std::uint64_t next_run_number();            // unique for ever, also over restarts
  void stop();                                // writes what is queued, then joins the thread; reads still work
  const counters& counted() const;
  std::string health() const;  // empty, or what is wrong in words
  std::size_t queued() const;  // accepted and not yet durable
  const options& how() const;

  // Reading; each call sees what is committed.
  boost::system::result<std::vector<stored_run>> runs() const;
  // All entries of a run in the order applied, `run_opened` first; stops early if `each` returns false. Read
  // in pieces: `each` may take its time, and holds up neither the writer nor other readers.
  boost::system::result<void> each_entry(std::uint64_t run_number,
                                         const std::function<bool(const stored_entry&)>& each) const;
  // Interventions nobody has answered, in the order made.
  boost::system::result<std::vector<intervention_row>> unanswered(std::uint64_t run_number) const;

 private:
  struct state;
  explicit archive(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace digd::archive
