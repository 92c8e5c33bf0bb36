// Written entries, which the writer fills again: their texts keep their memory.
//
// Thread: the writer's, except for `bytes`. Bounds: `max_bytes` of entries with the memory of their texts, each with at
// most `max_kept_bytes` of texts; further entries are freed. The bound is on bytes because the texts of an entry that
// is used again and again become as long as the longest messages.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "archive/entry.h"

namespace digd::archive {

class spare_entries {
 public:
  static constexpr std::size_t max_bytes = 3u << 18;
  static constexpr std::size_t max_kept_bytes = 4'096;

  entry_ptr take();  // empty
  // Empties the entries and keeps them, as far as the bounds allow. `done` is empty afterwards.
  void give_back(std::vector<entry_ptr>& done);

  std::size_t size() const { return kept_.size(); }
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  // any thread

 private:
  std::vector<entry_ptr> kept_;
  std::atomic<std::size_t> bytes_{0};  // of `kept_`
};

}  // namespace digd::archive
