#include "daemon/search/search_indexer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <utility>

#include "archive/entry_stream.h"
#include "archive/files.h"
#include "base/quote.h"
#include "base/thread_name.h"
#include "daemon/search/payload_texts.h"

namespace digd::daemon {

using archive::failure;

void search_indexer::start() {
  if (!is_on()) return archive::remove_archive_file(index_path_);
  thread_ = std::thread([this] {
    name_this_thread("search");
    work();
  });
}

void search_indexer::stop() {
  {
    const std::lock_guard hold(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void search_indexer::wake() {
  if (!is_on()) return;
  {
    const std::lock_guard hold(mutex_);
    has_work_ = true;
  }
  changed_.notify_all();
}

void search_indexer::forget(std::uint64_t run_number) {
  if (!is_on()) return;
  {
    const std::lock_guard hold(mutex_);
    deleted_.push_back(run_number);
    if (deleted_.size() > max_deletions) {
      deleted_.clear();
      must_find_deleted_ = true;
    }
    has_work_ = true;
  }
  changed_.notify_all();
}

void search_indexer::work() {
  bool has_more = false, is_failing = false;
  for (;;) {
    {
      std::unique_lock hold(mutex_);
      const auto is_due = [this] { return stopping_ || has_work_; };
      if (is_failing) {
        changed_.wait_for(hold, pause, [this] { return stopping_; });
      } else if (!has_more) {
        changed_.wait(hold, is_due);
      }
      if (stopping_) return;
      has_work_ = false;
    }
    const std::string problem = round(has_more);
    if (!problem.empty()) {
      counts_.failed.fetch_add(1);
      if (!is_failing) spdlog::warn("search_index_failed reason={}", digd::quoted(problem));
    }
    is_failing = !problem.empty();
  }
}

std::string search_indexer::open() {
  if (reads_) return {};
  std::string problem;
  auto opened = archive::browser::open(archive_path_, &problem);
  if (!opened) return "the archive cannot be read: " + problem;
  const auto stream = archive::entry_stream::open(archive_path_, &problem);
  if (!stream) return "the archive cannot be read: " + problem;
  const auto highest = (*stream)->highest_ever();
  if (!highest) return "the archive cannot be read: " + highest.error().message();
  if (failure fault = index_.open(index_path_))
    return fault.words + " (" + index_path_ + "; delete it to build it again)";
  if (index_.upto() > *highest) {
    spdlog::warn("search_restarted reason=\"the archive is not the same as before\"");
    if (failure failed = index_.clear()) return failed.words;
  }
  reads_ = std::move(*opened);
  return {};
}

// Runs that were deleted while digd stopped, or while too many deletions waited.
std::string search_indexer::find_deleted() {
  must_find_deleted_ = false;  // a deletion during this sets it again, or is listed
  std::vector<std::uint64_t> indexed, stored;
  if (failure fault = index_.runs(indexed)) return fault.words;
  for (std::uint64_t before = 0;;) {
    constexpr std::uint64_t max_runs = 1'000;
    const auto page = reads_->runs(before, max_runs);
    if (!page) return "the archive cannot be read: " + page.error().message();
    for (const archive::run_row& run : *page) stored.push_back(run.number);
    if (page->size() < max_runs) break;
    before = page->back().number;
  }
  std::sort(stored.begin(), stored.end());
  std::erase_if(indexed, [&](std::uint64_t run) { return std::binary_search(stored.begin(), stored.end(), run); });
  if (failure fault = index_.remove_runs(indexed)) return fault.words;
  return {};
}

failure search_indexer::remove_deleted() {
  std::vector<std::uint64_t> gone;
  {
    const std::lock_guard hold(mutex_);
    gone.swap(deleted_);
  }
  failure failed = index_.remove_runs(gone);
  if (failed) must_find_deleted_ = true;
  return failed;
}

// Each removal merges the whole index. So a full index loses runs until a tenth of its bytes is free, in few removals.
// Each removal takes twice as many runs as the one before, but at most a tenth of all: so the newest runs stay even if
// a few are very large. The newest run stays if it fits, although less than a tenth may be free beside it.
failure search_indexer::keep_within_limit() {
  std::uint64_t target_bytes = max_bytes_;
  for (std::size_t count = 1;; count *= 2) {
    std::uint64_t bytes = 0;
    if (failure failed = index_.used_bytes(bytes)) return failed;
    counts_.bytes = bytes;
    std::vector<std::uint64_t> runs;
    if (bytes <= target_bytes) return {};
    target_bytes = max_bytes_ - max_bytes_ / 10;
    if (failure failed = index_.runs(runs)) return failed;
    if (runs.empty() || (runs.size() == 1 && bytes <= max_bytes_)) return {};
    runs.resize(std::min(count, std::max<std::size_t>(1, runs.size() / 10)));
    if (failure failed = index_.remove_runs(runs)) return failed;
    full_upto_ = runs.back();
    counts_.dropped_runs.fetch_add(runs.size());
  }
}

std::string search_indexer::round(bool& has_more) {
  has_more = false;
  if (std::string problem = open(); !problem.empty()) return problem;
  const auto entries = reads_->entries_after(index_.upto(), 0);
  if (!entries) return "the archive cannot be read: " + entries.error().message();
  std::vector<archive::search_document> documents;
  for (const archive::watched_entry& entry : *entries) {
    if (entry.kind != archive::entry_kind::message || entry.run_number <= full_upto_) continue;
    for (payload_text& found : payload_texts(entry.frame, archive::search_index::max_text_bytes)) {
      documents.push_back({.run_number = entry.run_number,
                           .entry = entry.id,
                           .event = std::move(found.event),
                           .text = std::move(found.text)});
    }
  }
  if (!entries->empty()) {
    if (failure failed = index_.add(documents, entries->back().id)) return failed.words;
    counts_.texts.fetch_add(documents.size());
    has_more = true;
  }
  // After the piece: it may have been read before a run of it was deleted.
  if (failure failed = remove_deleted()) return failed.words;
  if (must_find_deleted_.load()) {
    std::string problem = find_deleted();
    must_find_deleted_ = must_find_deleted_ || !problem.empty();
    if (!problem.empty()) return problem;
  }
  if (failure failed = keep_within_limit()) return failed.words;
  return {};
}

}  // namespace digd::daemon
