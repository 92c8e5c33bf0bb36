// The archive: an SQLite store (WAL, synchronous FULL) behind one writer thread that commits in groups.
//
// Thread: each `producer` belongs to one engine thread; any thread may call everything else. Reads use their own
// connection. Failure: `open` returns an error. The writer keeps a batch that it could not write, retries it with
// backoff, counts it and reports it in `health`. It reports nothing durable before the commit returned. Bounds: all in
// `options`. The format is documented in docs/archive.md.
#pragma once

#include <atomic>
#include <boost/system/result.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archive/entry.h"
#include "archive/error.h"
#include "archive/parcel.h"

namespace digd::archive {

// Progress of the writer. All entries of the session up to `seq` are on disk and synced.
struct durable {
  std::uint64_t run_number;
  std::string session;
  std::uint64_t seq;
  bool deleted = false;         // the last row of the run is removed; `session` and `seq` have no meaning
  std::uint64_t judgement = 0;  // if not 0: the ticket of a stored judgement; `session` and `seq` have no meaning
  std::uint64_t barrier = 0;    // if not 0: the `seq` of a barrier; the rest has no meaning
};

struct options {
  std::string path;                      // the database file; created if missing, but not its folder
  std::size_t queue_entries = 65'536;    // accepted and not yet durable, of all producers; at most 1,000,000
  std::size_t queue_bytes = 256u << 20;  // likewise; a larger entry waits until the queue is empty
  std::size_t producers = 16;            // at the same time; each costs queue_entries * 8 bytes
  std::size_t batch_entries = 4'096;     // at most in one transaction
  std::size_t batch_bytes = 16u << 20;   // about, in one transaction; the last entry may exceed it
  unsigned poll_us = 200;                // how often an idle writer looks for work at first;
  unsigned max_poll_us = 1'000;          // the interval doubles up to this
  unsigned gather_us = 10'000;           // between two commits at least, to share one sync, unless
  std::size_t gather_entries = 256;      // this many entries wait
  unsigned yield_us = 20'000;            // how long a batch offers its processor to other threads
  unsigned retry_ms = 50;                // after a failed write; doubles with each failure
  unsigned max_retry_ms = 5'000;
  unsigned max_disk_ms = 4'000;         // how long entries may wait for the disk before `health` reports it
  unsigned stop_ms = 10'000;            // how long `stop` retries while writes fail
  int value_bytes = 128 << 20;          // of a row at most; a larger entry is shrunk (docs/archive.md)
  int checkpoint_pages = 512;           // the log is checkpointed at this length (2 MB); longer syncs delay others
  std::int64_t check_bytes = 64 << 20;  // `open` runs SQLite's quick check on files up to this size
  unsigned look_for_damage_ms = 0;      // how often to read a part of the file, for damage; 0: never
  std::string vfs;                      // SQLite's file layer, for fault injection; empty: the default
  std::function<void(int from, int to)> on_migration;  // `open` calls it before each step of a migration
  std::function<void(const std::string&)> on_health;   // called when `health` changes, on a thread of the archive
};

struct counters {
  std::atomic<std::uint64_t> entries{0}, bytes{0}, commits{0};  // durable
  std::atomic<std::uint64_t> failed_commits{0}, failed_checkpoints{0};
  std::atomic<std::uint64_t> queue_full{0};  // pushes refused
  std::atomic<std::uint64_t> shrunk{0};      // entries too large to be stored whole
  std::atomic<std::uint64_t> set_aside{0};   // entries dropped because their run contradicts what is stored
  std::atomic<std::uint64_t> deleted_runs{0};
  std::atomic<std::uint64_t> failed_removals{0};  // steps of a deletion that were retried
};

struct stored_run {
  std::uint64_t number = 0;
  std::string run;
  std::string hello;  // the frame of `run_opened`
  std::int64_t opened_ms = 0;
  std::int64_t last_ts = 0;  // the latest stamp or firing
  std::string ended;         // empty while the run is open
  std::uint64_t bytes = 0;   // of stored JSON
};

struct stored_entry {
  entry_kind kind = entry_kind::message;
  std::int64_t id = 0;  // ascending in the order of writing
  std::uint64_t n = 0, seq = 0;
  std::string session, type, frame, code, token;
  std::int64_t ts = 0;
};

// The answers to a session's messages with a seq above `after`, up to `upto`. `archive::answers` advances it with each
// part.
struct answer_range {
  std::uint64_t run_number = 0;
  std::string session;
  std::uint64_t after = 0, upto = 0;
  std::int64_t entry = -1;  // the last entry read; -1: none yet
};

// An answer as the archive keeps it.
struct stored_answer {
  std::uint64_t seq = 0;
  std::string response;  // the frame as sent; empty: `line` and `code` say why the message was refused
  std::string line, code;
};

class archive;

// Hands entries to the writer, in the order of the calls. Used by one thread. It may outlive the archive; then it
// refuses. Handing over one entry costs as much as handing over a full parcel.
class producer {
 public:
  ~producer();
  // An empty parcel to fill: one that the writer has unpacked, or a new one.
  parcel_ptr make_parcel();
  // Takes the parcel, which is not empty, and sets `parcel` to null. False, with `parcel` untouched, if the queue is
  // full or the archive has stopped: the caller keeps it and retries later.
  bool try_push(parcel_ptr& parcel);
  bool try_push(entry_ptr& entry);  // the same for an entry alone

 private:
  friend class archive;
  struct state;
  explicit producer(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

class archive {
 public:
  // The writer thread calls `on_durable` after each commit; it must neither throw nor call `stop`. Its span is empty if
  // nothing in the commit is acknowledged, such as an opening alone. On failure, `problem` is set to a sentence for
  // people.
  static boost::system::result<std::unique_ptr<archive>> open(options options,
                                                              std::function<void(std::span<const durable>)> on_durable,
                                                              std::string* problem = nullptr);
  ~archive();  // stops

  std::unique_ptr<producer> make_producer();  // null if `options::producers` exist already
  std::uint64_t next_run_number();            // never given out twice, not even after a restart
  void stop();                                // writes the queue, then joins the writer; reads still work
  const counters& counted() const;
  std::string health() const;       // empty, or a sentence about what is wrong
  std::size_t queued() const;       // accepted and not yet durable
  std::size_t spare_bytes() const;  // of entries and parcels that wait to be filled again
  const options& settings() const;

  // Reading: each call sees the committed entries.
  boost::system::result<std::vector<stored_run>> runs() const;
  // The runs that have not ended, without their hellos. The cost does not depend on how many have ended.
  boost::system::result<std::vector<stored_run>> open_runs() const;
  boost::system::result<std::uint64_t> count_ended() const;
  // The numbers of the runs with this id, latest first. Uses a connection of its own, so it waits for no other read.
  boost::system::result<std::vector<std::uint64_t>> numbers_of(std::string_view run) const;
  // All entries of a run in the order applied, `run_opened` first; stops if `each` returns false. No transaction is
  // open while `each` runs, so a slow one delays neither the writer nor other readers.
  boost::system::result<void> each_entry(std::uint64_t run_number,
                                         const std::function<bool(const stored_entry&)>& each) const;
  // The next answers of the range, in order: at most `reader::answers_at_once`, and about
  // `reader::answer_bytes_at_once` bytes. Empty: there are no more.
  boost::system::result<std::vector<stored_answer>> answers(answer_range& range) const;
  // Interventions that no client has answered, in the order of their creation.
  boost::system::result<std::vector<intervention_row>> unanswered(std::uint64_t run_number) const;

 private:
  struct state;
  explicit archive(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace digd::archive
