// The parts of a run in the stream. Each home published the entries that it added; where the home changed, the stream
// has a message `run_moved`. The order of the stream decides: entries of an earlier home that come after it are void.
// Each entry has its position in the run (`n`), so missing and repeated entries are detected.
//
// Bounds: a few words for each run. Failure: none; every line gets a verdict. Thread: one at a time. Lifetime: a
// `stream_line` views the message that it was read from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace digd::daemon {

// What identifies a message of the stream.
struct stream_line {
  enum class kind : std::uint8_t { entry, run_moved, run_deleted } is = kind::entry;
  std::string_view archive;  // of the daemon that published it
  std::string_view run;      // not of run_deleted
  std::uint64_t number = 0;  // of the run in that archive; not of run_moved
  std::uint64_t n = 0;       // of an entry
  std::uint64_t epoch = 1;
  std::string_view origin_archive;  // the run's first home; empty: this one
  std::uint64_t origin_number = 0;
};

class run_parts {
 public:
  run_parts(std::string run, std::string origin_archive, std::uint64_t origin_number)
      : run_(std::move(run)),
        origin_archive_(std::move(origin_archive)),
        origin_number_(origin_number),
        archive_(origin_archive_) {}

  enum class use : std::uint8_t {
    foreign,   // not an entry of this run
    next,      // the next entry of the run
    repeated,  // published before
    stale,     // of a daemon that was no longer the home
    early,     // entries before it are missing, or come later
  };
  use take(const stream_line& line);
  // Counts an entry that came early as the next one.
  void take_early() { ++entries_; }

  std::uint64_t entries() const { return entries_; }
  std::uint64_t epoch() const { return epoch_; }
  bool is_deleted() const { return deleted_; }  // then it has no entries

 private:
  bool is_of_run(const stream_line& line) const;

  const std::string run_, origin_archive_;
  const std::uint64_t origin_number_;
  std::string archive_;  // of the home
  std::uint64_t epoch_ = 1, entries_ = 0;
  bool deleted_ = false;
};

}  // namespace digd::daemon
