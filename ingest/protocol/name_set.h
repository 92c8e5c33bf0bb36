// The names seen so far in one list, to drop duplicates.
//
// It scans small lists and hashes larger ones with a secret key, so that a list made to collide stays linear. Holds
// views: the names must outlive the set's use. Keeps its memory between lists. Thread: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace digd::ingest {

class name_set {
 public:
  void clear() {
    names_.clear();
    slots_.clear();
  }
  // False: the name is in the set already.
  bool insert(std::string_view name) {
    if (names_.size() >= max_scanned) return insert_hashed(name);
    const auto is_same = [name](std::string_view known) {
      if (known.size() != name.size()) return false;
      return name.empty() || (known.back() == name.back() && known == name);  // ids often differ at the end
    };
    if (std::any_of(names_.begin(), names_.end(), is_same)) return false;
    names_.push_back(name);
    return true;
  }

 private:
  static constexpr std::size_t max_scanned = 16;

  bool insert_hashed(std::string_view name);
  void grow(std::size_t slots);
  // The slot that holds `name`, or the free slot for it.
  std::size_t slot_of(std::string_view name) const;

  std::vector<std::string_view> names_;
  std::vector<std::uint32_t> slots_;  // index into names_ plus one; 0: free. The size is a power of two
};

}  // namespace digd::ingest
