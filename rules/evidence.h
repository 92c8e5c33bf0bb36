// Lists of events as evidence. Findings of one message that have the same evidence share one list.
//
// Each list is computed once for a recipient and a lineage, so that the cost of a message is the live items plus the
// items it names, never their product (semantics.md, "The properties the implementation must have").
//
// Thread: its run's engine thread. Lifetime: a list holds indices, so it is used while the graph keeps these events.
// What `get` returns holds until the next `get` or `clear`; a copy holds longer. Bounds: one list for each rule,
// lineage and agent that judging a message asks for; their events count against `limits.judging_work`.
#pragma once

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "model/rule_id.h"

namespace digd {

// An immutable list, cheap to copy. Its first `max_sorted` events have the smallest ids, sorted bytewise; the others
// are in no order.
class event_list {
 public:
  static constexpr std::size_t max_sorted = 64;

  event_list() = default;
  event_list(const graph::graph& g, std::vector<graph::event_index> events);

  std::size_t size() const { return list_ ? list_->events.size() : 0; }
  bool empty() const { return size() == 0; }
  const graph::event_index* begin() const { return list_ ? list_->events.data() : nullptr; }
  const graph::event_index* end() const { return begin() + size(); }
  graph::event_index front() const { return list_->events.front(); }
  graph::event_index operator[](std::size_t i) const { return list_->events[i]; }
  // The first `count` events, or all if there are fewer. A view into the list.
  std::span<const graph::event_index> first(std::size_t count) const { return {begin(), std::min(count, size())}; }
  // Whether all events share one set of generators. Equal sets that the graph stores separately count as different.
  bool has_one_lineage() const { return !list_ || list_->has_one_lineage; }

 private:
  struct list {
    std::vector<graph::event_index> events;
    bool has_one_lineage = true;
  };
  std::shared_ptr<const list> list_;
};

// The evidence computed so far for the current message. One per run, cleared after the message is judged. The graph
// does not change until then.
class evidence_cache {
 public:
  // The rule's list for a lineage (any pointer that identifies it) and an agent. Calls `make` for its events the first
  // time only.
  template <class Make>
  const event_list& get(const graph::graph& g, rule_id rule, const void* lineage, graph::agent_index agent, Make make) {
    const key wanted{lineage, agent, rule};
    const auto found = lists_.find(wanted);
    if (found != lists_.end()) return found->second;
    return lists_.emplace(wanted, event_list(g, make())).first->second;
  }
  void clear() { lists_.clear(); }

 private:
  struct key {
    const void* lineage = nullptr;
    graph::agent_index agent = graph::nobody;
    rule_id rule{};
    bool operator==(const key&) const = default;
    friend std::size_t hash_value(const key& k) {
      std::size_t seed = 0;
      boost::hash_combine(seed, k.lineage);
      boost::hash_combine(seed, k.agent);
      boost::hash_combine(seed, static_cast<unsigned>(k.rule));
      return seed;
    }
  };
  boost::unordered_flat_map<key, event_list> lists_;
};

}  // namespace digd
