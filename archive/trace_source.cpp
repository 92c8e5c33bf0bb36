#include "archive/trace_source.h"

#include <utility>

namespace digd::archive {

boost::system::result<std::unique_ptr<trace_source>> trace_source::open(const std::string& path,
                                                                        std::uint64_t run_number,
                                                                        std::string* problem) {
  auto reads = reader::open(path, {}, problem);
  if (!reads) return reads.error();
  std::unique_ptr<trace_source> made(new trace_source(run_number));
  made->reads_ = std::move(*reads);
  const auto last = made->reads_->last_entry(run_number);
  if (!last) return last.error();
  made->upto_ = *last;
  return made;
}

boost::system::result<void> trace_source::read_more() {
  entries_.clear();
  taken_ = 0;
  const auto more = reads_->read_some(run_number_, at_, entries_);
  if (!more) return more.error();
  // The rows of a deleted run are removed in any order, so an incomplete piece is possible.
  const auto there = reads_->exists(run_number_);
  if (!there) return there.error();
  if (!*there) return make_error_code(archive_error::run_deleted);
  done_ = !*more;
  return {};
}

boost::system::result<std::string> trace_source::next() {
  piece_.clear();
  while (!done_ && piece_.size() < piece_bytes) {
    if (taken_ == entries_.size()) {
      if (const auto read = read_more(); !read) return read.error();
      continue;
    }
    const stored_entry& entry = entries_[taken_++];
    if (entry.id > upto_) {
      done_ = true;
      break;
    }
    trace_.take(entry);
  }
  if (done_ && !std::exchange(finished_, true)) trace_.finish();
  return std::exchange(piece_, {});
}

}  // namespace digd::archive
