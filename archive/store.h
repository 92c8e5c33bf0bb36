// The writing side of an archive file: its lock, its connection, its prepared statements. No thread of its
// own.
//
// A batch is one transaction: all of it is stored and synced, or none. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
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
  };

  open_trouble open(const settings& how);

  struct result {
    failure why;
    std::size_t at = 0;  // the entry it failed on, or the batch's size if none of them was to blame
  };
  result write(std::span<const std::unique_ptr<entry>> entries);

  // The log is moved into the file up to what readers still need; `truncate` also empties it if nobody reads.
  failure checkpoint(bool truncate);
  int log_pages() const { return log_pages_; }                      // in the log, after the last commit
  bool is_all_moved() const { return moved_pages_ >= log_pages_; }  // by the last checkpoint

  std::uint64_t next_run_number() const { return next_run_number_; }

 private:
  failure prepare();
  failure put(const entry& what);
  failure erase(std::uint64_t run_number);
  failure put_rows(const entry& what, std::int64_t id);
  failure note_answer(const entry& what, std::int64_t id);
  failure move_clocks(std::span<const std::unique_ptr<entry>> entries);
  bool has_moved();

  file_lock lock_;
  connection db_;
  statement begin_, commit_, rollback_;
  statement insert_run_, insert_entry_, insert_detection_, insert_intervention_, insert_outcome_;
  statement answer_intervention_, end_run_, move_clock_;
  statement delete_run_, note_highest_;
  std::uint64_t next_run_number_ = 1;
  // The next row of each table. Numbers of deleted rows are not used again, so that whoever went up to one misses
  // nothing: `sqlite_sequence` remembers the highest.
  struct {
    std::int64_t entry = 1, detection = 1, intervention = 1, outcome = 1;
  } next_;
  int log_pages_ = 0;
  int moved_pages_ = 0;
  std::string verdicts_;  // scratch
};

}  // namespace digd::archive
