// Entries on their way from an engine thread to the writer.
//
// An `entry` is half a kilobyte with several pieces of memory. To fill these on one processor and read them on another
// costs an engine thread more than to store their content as bytes, one entry after another (docs/performance.md). So a
// parcel packs entries without rows, which are most, and carries at most one other entry, its last.
//
// Thread: one at a time. Bounds: the memory of its entries. `is_full` asks the caller to begin another parcel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "archive/entry.h"
#include "archive/spare_entries.h"

namespace digd::archive {

class parcel {
 public:
  static constexpr std::size_t full_bytes = 8u << 10;        // of packed entries; the last one may exceed it
  static constexpr std::size_t min_bytes = 1u << 10;         // allocated at once
  static constexpr std::size_t max_spare_bytes = 16u << 10;  // `empty` frees more

  // Not after an entry with rows.
  void add(const plain_entry& added);
  void add(entry_ptr added);
  // Takes back the only entry. Null if it was packed.
  entry_ptr take_whole();

  bool is_full() const { return whole_ != nullptr || size_ >= full_bytes; }
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
