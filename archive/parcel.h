// Entries on their way from an engine thread to the writer.
//
// An `entry` is half a kilobyte with several pieces of memory. Filling these on one processor and reading them on
// another is slower than copying their content, one entry after another, into one piece of memory
// (docs/performance.md). So a parcel packs entries without rows, which most entries are. It can also carry one entry
// with rows, as its last.
//
// Thread: one at a time. Bounds: none of its own; the caller begins another parcel when this one `is_full`. Failure:
// none.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "archive/entry.h"
#include "archive/spare_entries.h"

namespace digd::archive {

class parcel {
 public:
  static constexpr std::size_t max_packed_bytes = 8u << 10;  // of packed entries; the last one may exceed it
  static constexpr std::size_t min_bytes = 1u << 10;         // of memory, at first
  static constexpr std::size_t max_spare_bytes = 16u << 10;  // `empty` frees more

  // Do not call either after adding an entry with rows.
  void add(const plain_entry& added);
  void add(entry_ptr added);
  // Empties the parcel and returns its entry with rows; null if it has none.
  entry_ptr take_whole();

  bool is_full() const { return whole_ != nullptr || size_ >= max_packed_bytes; }
  std::size_t entries() const { return entries_; }
  std::size_t bytes() const { return entry_bytes_; }               // the sum of `entry::bytes`
  std::size_t memory() const { return sizeof *this + capacity_; }  // without the entry with rows

  // Moves the entries, in order, to the end of `into`. The parcel is empty afterwards.
  void unpack(std::vector<entry_ptr>& into, spare_entries& spare);

 private:
  void empty();
  char* room_for(std::size_t bytes);

  std::unique_ptr<char[]> packed_;
  std::size_t size_ = 0, capacity_ = 0;  // of `packed_`
  std::size_t entries_ = 0, entry_bytes_ = 0;
  entry_ptr whole_;
};
using parcel_ptr = std::unique_ptr<parcel>;

}  // namespace digd::archive
