// The lineages of the events that wait at one agent, each with the number of its events.
//
// Adding or dropping an event takes constant time, because one message can consume events of many lineages. The order
// of the entries depends only on the calls, so judging visits the same number on every machine. Bounds: one entry for
// each lineage that waits. Not thread-safe. Never fails.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/lineage.h"

namespace digd::graph {

// The number of an agent's pending events that have the same generators.
struct pending_lineage {
  generators from;  // never null
  std::uint32_t events = 0;
};

class lineage_counts {
 public:
  std::size_t size() const { return list_.size(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  // Both return the number of entries visited. `from` is not null.
  std::size_t add(const generators& from) {
    const auto [slot, visited] = find(from.get());
    if (slot < list_.size()) {
      ++list_[slot].events;
      return visited;
    }
    list_.push_back({from, 1});
    if (list_.size() > max_searched || !slots_.empty()) index_slots();
    return visited + 1;
  }
  // Drops one event. The lineage must have one.
  std::size_t drop(const generators& from) {
    const auto [slot, visited] = find(from.get());
    assert(slot < list_.size());
    if (--list_[slot].events > 0) return visited;
    slots_.erase(from.get());
    if (slot + 1 < list_.size()) {
      list_[slot] = std::move(list_.back());
      if (!slots_.empty()) slots_[list_[slot].from.get()] = slot;
    }
    list_.pop_back();
    return visited + 1;
  }

 private:
  static constexpr std::size_t max_searched = 8;  // a longer list has an index

  // The place of the lineage and the number of entries visited. Not found: the place after the last.
  std::pair<std::size_t, std::size_t> find(const generator_set* wanted) const {
    if (!slots_.empty()) {
      const auto found = slots_.find(wanted);
      return {found == slots_.end() ? list_.size() : found->second, 1};
    }
    // The events of a message usually have the same lineage, which was added last.
    for (std::size_t slot = list_.size(); slot > 0; --slot) {
      if (list_[slot - 1].from.get() == wanted) return {slot - 1, list_.size() - slot + 1};
    }
    return {list_.size(), list_.size()};
  }

  // Adds the lineages that the index lacks: all of them, or the last one if the index exists.
  void index_slots() {
    for (std::size_t slot = slots_.size(); slot < list_.size(); ++slot) slots_[list_[slot].from.get()] = slot;
  }

  std::vector<pending_lineage> list_;
  boost::unordered_flat_map<const generator_set*, std::size_t> slots_;  // by place; empty: the list is searched
};

}  // namespace digd::graph
