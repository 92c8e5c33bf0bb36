// The writing side of an archive file: its lock, its connection and its prepared statements.
//
// A batch is one transaction: it is stored and synced completely or not at all. Thread: one at a time; none of its own.
// Failure: a `failure`; nothing throws.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "archive/entry.h"
#include "archive/file_lock.h"
#include "archive/schema.h"
#include "archive/sqlite.h"

namespace digd::archive {

using batch = std::vector<std::unique_ptr<entry>>;

class store {
 public:
  struct settings {
    std::string path;
    std::string vfs;
    std::int64_t check_bytes = 0;
    int max_value_bytes = 0;  // of a row that is written; 0: SQLite's own limit
    std::function<void(int from, int to)> on_migration;
  };
  static constexpr std::int64_t max_kept_pages = 256;  // free pages that the file keeps: 1 MiB
  static constexpr std::int64_t pages_a_step = 128;    // given back to the file system in one transaction
  // How long one transaction may remove rows; its last portion may exceed it.
  static constexpr std::chrono::microseconds max_removal_time{2'000};
  static constexpr int rows_a_portion = 16;

  open_trouble open(const settings& settings);

  struct result {
    failure failed;
    std::size_t at = 0;  // the entry that failed; the batch's size if no single entry did
  };
  result write(std::span<const std::unique_ptr<entry>> entries);

  // ---- deletion: `write` marks the run; small steps then remove its rows and give back unused pages. Readers leave
  // out marked runs. After a restart the steps continue.
  bool has_rows_to_remove() const { return !leaving_.empty(); }
  struct removal {
    failure failed;
    std::uint64_t gone = 0;  // the run whose last row was removed; 0: none
  };
  removal remove_some();
  // Whether the file has more free pages than it keeps.
  bool has_pages_to_give_back() const { return free_pages_ > max_kept_pages; }
  failure give_back_some();

  // Moves the log into the file, except for pages that readers still need. `truncate` also empties it if nothing reads.
  failure checkpoint(bool truncate);
  int log_pages() const { return log_pages_; }                      // in the log, after the last commit
  bool is_all_moved() const { return moved_pages_ >= log_pages_; }  // by the last checkpoint

  std::uint64_t next_run_number() const { return next_run_number_; }

 private:
  failure prepare();
  failure read_next_numbers();
  failure prepare_statements();
  failure find_unfinished_deletions();  // those that an earlier daemon did not complete
  failure put(const entry& entry);
  failure mark_deleted(std::uint64_t run_number);
  failure put_judgement(const entry& entry);
  failure remove_rows(std::uint64_t run_number, bool& complete);
  failure count_free_pages();
  failure put_rows(const entry& entry, std::int64_t id);
  failure note_answer(const entry& entry, std::int64_t id);
  void note_change(const entry& entry);
  failure put_changes();
  failure put_usage(std::uint64_t run_number, const usage_amounts& used);
  bool has_moved();

  file_lock lock_;
  connection db_;
  statement begin_, commit_, rollback_;
  statement insert_run_, insert_entry_, insert_detection_, insert_intervention_, insert_outcome_;
  statement answer_intervention_, end_run_, change_run_, add_usage_;
  statement mark_run_, delete_run_, note_highest_, free_page_count_;
  statement put_judgement_, drop_judgement_;
  statement remove_rows_[5];           // one for each table with rows of runs
  std::deque<std::uint64_t> leaving_;  // marked runs whose rows are not yet removed
  std::vector<std::uint64_t> marked_;  // in the open transaction
  std::int64_t free_pages_ = 0;
  std::uint64_t next_run_number_ = 1;
  // The next row number of each table. Numbers of deleted rows are not reused, so a reader that continues after a
  // number misses nothing: `sqlite_sequence` keeps the highest.
  struct {
    std::int64_t entry = 1, detection = 1, intervention = 1, outcome = 1;
  } next_;
  int log_pages_ = 0;
  int moved_pages_ = 0;
  std::string verdicts_;  // scratch
  // Changes of a transaction to rows of `runs`.
  struct run_change {
    std::optional<std::int64_t> last_ts, heard_ms;
    std::uint64_t bytes = 0, activations = 0;
    std::optional<usage_amounts> used;
  };
  boost::unordered_flat_map<std::uint64_t, run_change> changes_;
};

}  // namespace digd::archive
