#include "ingest/name_set.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace digd::ingest {

namespace {

__extension__ using uint128 = unsigned __int128;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const uint128 product = static_cast<uint128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t random_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace

name_set::name_set() : seed_(random_seed()) {}

void name_set::clear() {
  names_.clear();
  slots_.clear();
}

bool name_set::insert(std::string_view name) {
  if (names_.size() < scanned_at_most) {
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) return false;
    names_.push_back(name);
    return true;
  }
  if (2 * (names_.size() + 1) > slots_.size()) grow(std::max<std::size_t>(64, 2 * slots_.size()));
  const std::size_t at = slot_of(name);
  if (slots_[at] != 0) return false;
  names_.push_back(name);
  slots_[at] = static_cast<std::uint32_t>(names_.size());
  return true;
}

std::uint64_t name_set::hash(std::string_view name) const {
  constexpr std::uint64_t multiplier =
      0x9E3779B97F4A7C15u;  // odd, bits well spread: 2^64 over the golden ratio
  std::uint64_t state = mix(seed_ ^ name.size(), multiplier);
  while (name.size() > 8) {
    std::uint64_t part = 0;
    std::memcpy(&part, name.data(), 8);
    state = mix(state ^ part, multiplier);
    name.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  if (!name.empty()) std::memcpy(&rest, name.data(), name.size());
  return mix(state ^ rest, multiplier ^ seed_);
}

void name_set::grow(std::size_t slots) {
  slots_.assign(slots, 0);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    slots_[slot_of(names_[i])] = static_cast<std::uint32_t>(i + 1);
  }
}

std::size_t name_set::slot_of(std::string_view name) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash(name) & mask;
  while (slots_[at] != 0 && names_[slots_[at] - 1] != name) at = (at + 1) & mask;
  return at;
}

}  // namespace digd::ingest
