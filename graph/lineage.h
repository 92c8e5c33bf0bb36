// What an event descends from, shared by all that descend from the same inputs.
//
// What one names never changes once it is made; it is held by counted pointers, which one thread at a time may touch:
// that of the run. A lineage names only ancestors that were not settled when it was made: nothing else can ever be
// reachable work again (semantics.md, "The properties the implementation must have").
#pragma once

#include <boost/container/small_vector.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace digd::graph {

template <class T>
using counted = boost::intrusive_ref_counter<T, boost::thread_unsafe_counter>;

// Names an event for as long as the run remembers it; stale afterwards, never dangling.
struct event_ref {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  bool operator==(const event_ref&) const = default;
};

// A problem-generating activation that some lineage starts from. Outlives the activation's own node.
struct generator : counted<generator> {
  generator(std::uint64_t ordinal, std::string activation, std::string agent)
      : ordinal(ordinal), activation(std::move(activation)), agent(std::move(agent)) {}

  const std::uint64_t ordinal;  // of the activation, unique in the run
  const std::string activation;
  const std::string agent;
};
using generator_ptr = boost::intrusive_ptr<const generator>;

// Sorted by ordinal. `overflow`: more than the limit; such an event is left out of cross-lineage aggregation.
struct generator_set : counted<generator_set> {
  boost::container::small_vector<generator_ptr, 1> members;
  bool overflow = false;
};
using generators = boost::intrusive_ptr<const generator_set>;  // null: none

generators single_generator(generator_ptr, std::size_t limit);
// The union; keeps one of its operands where that is the result already.
generators united(const generators& a, const generators& b, std::size_t limit);
// How many members `united`, and `disjoint`, look at.
inline std::size_t cost_of_union(const generators& a, const generators& b) {
  return !a || !b || a == b ? 0 : a->members.size() + b->members.size();
}
// True if both are known, not empty, and share nothing.
bool disjoint(const generators& a, const generators& b);

// The ancestors of an event that were not settled when it was made; no order.
struct ancestor_list : counted<ancestor_list> {
  boost::container::small_vector<event_ref, 3> members;
  // Shared by many, it is looked through once for all of them, not once for each:
  mutable std::uint32_t settled_up_to = 0;  // so many at the front are settled, for ever
  mutable std::uint64_t walked_in = 0;      // the graph's marking that has seen it
};
using ancestry = boost::intrusive_ptr<const ancestor_list>;  // null: none

}  // namespace digd::graph
