// Lineage: the generators and unsettled ancestors of an event, shared by all events with the same inputs.
//
// The members of a lineage never change. Its reference count is not atomic, so only the run's thread may use it. It
// leaves out ancestors that were settled when it was made: these never become reachable work again (semantics.md, "The
// properties the implementation must have").
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

// Refers to an event. It becomes stale when the run forgets the event; it never dangles.
struct event_ref {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  bool operator==(const event_ref&) const = default;
};

// A problem-generating activation in which a lineage starts. It outlives the activation's node.
struct generator : counted<generator> {
  generator(std::uint64_t ordinal, std::string activation, std::string agent)
      : ordinal(ordinal), activation(std::move(activation)), agent(std::move(agent)) {}

  const std::uint64_t ordinal;  // of the activation, unique in the run
  const std::string activation;
  const std::string agent;
};
using generator_ptr = boost::intrusive_ptr<const generator>;

// Sorted by ordinal. `overflow`: over the limit; cross-lineage aggregation ignores such an event.
struct generator_set : counted<generator_set> {
  boost::container::small_vector<generator_ptr, 1> members;
  bool overflow = false;
};
using generators = boost::intrusive_ptr<const generator_set>;  // null: none

generators single_generator(generator_ptr, std::size_t limit);
// The union. Returns one of the operands if it is the result.
generators union_of(const generators& a, const generators& b, std::size_t limit);
using generator_sets = boost::container::small_vector<generators, 2>;
// Replaces the sets in `parts` by their union. Empty `parts` stay empty; no set in it may be null. Returns the number
// of pairs and members visited. For n distinct sets, a member is visited at most log2(n) times, rounded up.
std::size_t merge(generator_sets& parts, std::size_t limit);
// The number of members that `union_of` and `disjoint` visit.
inline std::size_t cost_of_union(const generators& a, const generators& b) {
  return !a || !b || a == b ? 0 : a->members.size() + b->members.size();
}
// True if both are known, not empty, and have no member in common.
bool disjoint(const generators& a, const generators& b);

// The ancestors of an event that were unsettled when it was recorded, in no order.
struct ancestor_list : counted<ancestor_list> {
  boost::container::small_vector<event_ref, 3> members;
  // Events share the list, so the progress of a scan is kept here, once for all of them.
  mutable std::uint32_t settled_up_to = 0;  // members before this index are settled
  mutable std::uint64_t visited_by = 0;     // the last marking of the graph that visited it
};
using ancestry = boost::intrusive_ptr<const ancestor_list>;  // null: none

}  // namespace digd::graph
