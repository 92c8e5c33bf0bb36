#include "daemon/fleet/homes/run_parts.h"

namespace digd::daemon {

bool run_parts::is_of_run(const stream_line& line) const {
  const bool is_first_home = line.origin_archive.empty();
  return (is_first_home ? line.archive : line.origin_archive) == origin_archive_ &&
         (is_first_home ? line.number : line.origin_number) == origin_number_;
}

run_parts::use run_parts::take(const stream_line& line) {
  if (!is_of_run(line)) return use::foreign;
  if (line.is == stream_line::kind::run_deleted) {
    deleted_ = deleted_ || (line.epoch == epoch_ && line.archive == archive_);
    return use::foreign;
  }
  if (line.run != run_) return use::foreign;
  if (line.is == stream_line::kind::run_moved) {
    if (line.epoch > epoch_) {
      epoch_ = line.epoch;
      archive_ = line.archive;
    }
    return use::foreign;
  }
  if (line.epoch != epoch_ || line.archive != archive_ || deleted_) return use::stale;
  if (line.n <= entries_) return use::repeated;
  if (line.n > entries_ + 1) return use::early;
  ++entries_;
  return use::next;
}

}  // namespace digd::daemon
