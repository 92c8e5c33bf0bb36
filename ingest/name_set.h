// Names seen so far in one list, to drop those given twice.
//
// Small lists are scanned, larger ones hashed with a secret seed, so that a list made to collide stays
// linear. Holds views: the names must outlive the set's use. Keeps its memory between lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace digd::ingest {

class name_set {
 public:
  name_set();

  void clear();
  // False: the name is in the set already.
  bool insert(std::string_view name);

 private:
  static constexpr std::size_t scanned_at_most = 16;

  std::uint64_t hash(std::string_view name) const;
  void grow(std::size_t slots);
  // The slot that holds `name`, or the free one where it belongs.
  std::size_t slot_of(std::string_view name) const;

  std::uint64_t seed_;
  std::vector<std::string_view> names_;
  std::vector<std::uint32_t> slots_;  // index into names_ plus one, 0: free; size a power of two
};

}  // namespace digd::ingest
