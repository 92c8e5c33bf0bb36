// Keeps search.db up to date with the archive: adds what agents wrote, and removes runs that are deleted.
//
// It has a thread and database connections of its own, so neither an engine thread nor the archive's writer waits for
// it. If `payloads.search_bytes` is 0, it is off, and `start` deletes the index of an earlier start.
//
// Threads: one thread calls `start` and then `stop`; any thread may call `wake`, `forget` and `counted`. Lifetime:
// stopped before the archive closes. Bounds: one piece of the archive at a time. The index has at most about
// `max_bytes`; beyond that, the oldest runs leave it until a tenth is free. A deleted run leaves it at once or, if digd
// ends first, after the restart. Failure: logged once, counted, and tried again after `pause`.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "archive/browser.h"
#include "archive/search_index.h"

namespace digd::daemon {

struct search_counts {
  std::atomic<std::uint64_t> texts{0};         // indexed since the start
  std::atomic<std::uint64_t> failed{0};        // rounds that had to be tried again
  std::atomic<std::uint64_t> dropped_runs{0};  // left the index because it was full
  std::atomic<std::uint64_t> bytes{0};         // of the index
};

class search_indexer {
 public:
  static constexpr std::chrono::seconds pause{2};
  // Deletions that wait. Beyond that, it compares the runs of the index with those of the archive.
  static constexpr std::size_t max_deletions = 10'000;

  search_indexer(std::string archive_path, std::string index_path, std::uint64_t max_bytes)
      : archive_path_(std::move(archive_path)), index_path_(std::move(index_path)), max_bytes_(max_bytes) {}
  ~search_indexer() { stop(); }

  void start();
  void stop();
  void wake();                            // the archive has stored something
  void forget(std::uint64_t run_number);  // the run was deleted
  bool is_on() const { return max_bytes_ > 0; }
  const std::string& index_path() const { return index_path_; }
  const search_counts& counted() const { return counts_; }

 private:
  void work();
  // A problem in words; empty on success. `has_more`: the archive has further entries.
  std::string round(bool& has_more);
  std::string open();
  std::string find_deleted();
  archive::failure remove_deleted();
  archive::failure keep_within_limit();

  const std::string archive_path_, index_path_;
  const std::uint64_t max_bytes_;
  std::unique_ptr<archive::browser> reads_;  // null: not open yet
  archive::search_index index_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, has_work_ = true;
  std::vector<std::uint64_t> deleted_;
  std::atomic<bool> must_find_deleted_{true};
  std::uint64_t full_upto_ = 0;  // the newest run that left the full index: texts of runs up to it are not added
  search_counts counts_;
  std::thread thread_;
};

}  // namespace digd::daemon
