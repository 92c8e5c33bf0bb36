// What an event descends from, shared by all that descend from the same inputs.
//
// Immutable once made; held by shared pointers. A lineage names only ancestors that were not settled when it was
// made: nothing else can ever be reachable work again (semantics.md, "The properties the implementation must have").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace digd::graph {

// Names an event for as long as the run remembers it; stale afterwards, never dangling.
struct event_ref {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  bool operator==(const event_ref&) const = default;
};

// A problem-generating activation that some lineage starts from. Outlives the activation's own node.
struct generator {
  std::uint64_t ordinal = 0;  // of the activation, unique in the run
  std::string activation;
  std::string agent;
};

// Sorted by ordinal. `overflow`: more than the limit; such an event is left out of cross-lineage aggregation.
struct generator_set {
  std::vector<std::shared_ptr<const generator>> members;
  bool overflow = false;
};
using generators = std::shared_ptr<const generator_set>;  // null: none

generators single_generator(std::shared_ptr<const generator>, std::size_t limit);
// The union; keeps one of its operands where that is the result already.
generators united(const generators& a, const generators& b, std::size_t limit);
// True if both are known, not empty, and share nothing.
bool disjoint(const generators& a, const generators& b);

// The unsettled ancestors of an event; no order.
using ancestry = std::shared_ptr<const std::vector<event_ref>>;  // null: none

}  // namespace digd::graph
