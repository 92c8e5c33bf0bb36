// Entries that the writer is done with, for the engine threads to fill again: their texts keep their memory. An
// allocation on one thread that another frees is slow for both (docs/performance.md).
//
// Thread: any; a lock, for `entries_at_once` entries at a time. Bounds: `max_bytes` of entries with the memory of their
// texts, each with at most `max_kept_bytes` of texts; further entries are freed. The bound is on bytes because the
// texts of an entry that is used again and again become as long as the longest messages.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "archive/entry.h"

namespace digd::archive {

class entry_pool {
 public:
  static constexpr std::size_t max_bytes = 2u << 20;
  static constexpr std::size_t max_kept_bytes = 4'096;
  static constexpr std::size_t entries_at_once = 64;

  // Moves up to `entries_at_once` empty entries to `into`; none if there are none.
  void take(std::vector<entry_ptr>& into);
  // Empties the entries and keeps them, as far as the bounds allow. `done` is empty afterwards.
  void give_back(std::vector<entry_ptr>& done);

  std::size_t size() const;
  std::size_t bytes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<entry_ptr> kept_;
  std::size_t bytes_ = 0;  // of `kept_`
};

}  // namespace digd::archive
