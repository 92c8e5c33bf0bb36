// The archive: an SQLite store (WAL, synchronous FULL) behind one writer thread that commits in groups.
//
// Thread: each `producer` belongs to one engine thread; any thread may call everything else. Reads use their own
// connection. Failure: `open` returns an error. The writer keeps a batch that it could not write, retries it with
// backoff, counts it and reports it in `health`. It reports nothing durable before the commit returned. Bounds: all in
// `options`. The format is documented in docs/archive.md.
#pragma once

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
#include "archive/options.h"
#include "archive/parcel.h"
#include "archive/stored.h"

namespace digd::archive {

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

  std::unique_ptr<producer> make_producer();  // null if `options::max_producers` exist already
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
  // The next answers of the range, in order: at most `reader::max_answers_at_once`, and about
  // `reader::max_answer_bytes_at_once` bytes. Empty: there are no more.
  boost::system::result<std::vector<stored_answer>> answers(answer_range& range) const;
  // Interventions that no client has answered, in the order of their creation.
  boost::system::result<std::vector<intervention_row>> unanswered(std::uint64_t run_number) const;

 private:
  struct state;
  explicit archive(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace digd::archive
