#include "ingest/protocol/name_set.h"

#include <algorithm>

#include "base/keyed_hash.h"

namespace digd::ingest {

bool name_set::insert_hashed(std::string_view name) {
  if (2 * (names_.size() + 1) > slots_.size()) grow(std::max<std::size_t>(64, 2 * slots_.size()));
  const std::size_t at = slot_of(name);
  if (slots_[at] != 0) return false;
  names_.push_back(name);
  slots_[at] = static_cast<std::uint32_t>(names_.size());
  return true;
}

void name_set::grow(std::size_t slots) {
  slots_.assign(slots, 0);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    slots_[slot_of(names_[i])] = static_cast<std::uint32_t>(i + 1);
  }
}

std::size_t name_set::slot_of(std::string_view name) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = keyed_hash(name) & mask;
  while (slots_[at] != 0 && names_[slots_[at] - 1] != name) at = (at + 1) & mask;
  return at;
}

}  // namespace digd::ingest
