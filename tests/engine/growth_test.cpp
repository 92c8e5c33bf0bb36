// Growth by counts: the number of list elements that the graph and the rules visit for an event, in long runs and in
// costly shapes.
//
// bench/growth.cpp measures the time of the same shapes. A count does not depend on the machine, so it can be a test.
// docs/performance.md states the bounds.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "bench/shapes.h"

using namespace digd;
using namespace digd::bench;

namespace {

std::uint64_t elements(const run& r) { return r.graph().counters().visited; }

histogram counts_of(const shape& shape, std::uint64_t size) {
  judged_run run(elements);
  histogram each;
  shape(size, run, each);
  return each;
}

// The number of list elements that the graph holds, beside its nodes. A list that several nodes share counts once.
std::uint64_t held(const graph::graph& g) {
  std::set<const void*> seen;
  std::uint64_t total = 0;
  const auto shared = [&](const auto& list) {
    if (list && seen.insert(list.get()).second) total += list->members.size();
  };
  for (const graph::event_index i : g.all_events()) {
    const graph::event_node& e = g.event(i);
    total += e.deliveries.size() + e.inputs_of.size();
    shared(e.generators);
    shared(e.ancestry);
  }
  for (const graph::activation_index i : g.all_activations())
    total += g.activation(i).inputs.size() + g.activation(i).outputs.size();
  for (graph::agent_index a = 0; a < g.agent_count(); ++a)
    total += g.agent(a).pending.size() + g.agent(a).lineages.size();
  return total;
}

}  // namespace

TEST_CASE("an_event_of_a_long_run_costs_no_more_than_one_of_a_short_run", "[long]") {
  judged_run run(elements);
  long_run story;
  run.take(story.first());
  std::uint64_t early = 0, late = 0;
  constexpr int messages = 300'000;
  for (int i = 0; i < messages; ++i) {
    const std::uint64_t spent = run.take(story.next());
    if (i < 1'000) early = std::max(early, spent);
    if (i >= messages - 1'000) late = std::max(late, spent);
  }
  CHECK(early > 0);
  CHECK(late <= early);
}

TEST_CASE("costly_shapes_stay_within_their_bounds", "[long]") {
  // The bound for a message with one event, or for each element of a message with many. `pending` adds the number of
  // events that wait at the recipient. These visits count too: each event whose window is updated, each entry that is
  // added to an agent's lineages or removed from them, and each delivery that a text reads.
  struct bound {
    std::uint64_t fixed = 0, generators = 0;
    bool pending = false;
  };
  const std::map<std::string, bound> bounds{
      {"events pending at one agent", {.fixed = 4}},
      {"events of one lineage pending at one agent", {.fixed = 6}},
      {"generators merged in a chain", {.fixed = 28, .generators = 2 * limits{}.generators}},
      {"recipients of one event", {.fixed = 4}},
      {"submits in a row", {.fixed = 15}},
      {"inputs of one activation", {.fixed = 10}},
      {"events of a layer that settles at once", {.fixed = 25}},
      {"lineages that one activation consumes", {.fixed = 22}},  // merged in pairs, in log2(n) rounds
      {"orphans whose windows fire at one time", {.fixed = 14}},
  };
  REQUIRE(bounds.size() == shapes().size());
  for (const auto& [name, size, play] : shapes()) {
    const bound& bound = bounds.at(name);
    for (const std::uint64_t n : {size, 10 * size}) {
      INFO(name << " at " << n);
      const histogram each = counts_of(play, n);
      REQUIRE(each.count() > 0);
      CHECK(each.max() > 0);
      CHECK(each.max() <= bound.fixed + bound.generators + (bound.pending ? n : 0));
    }
  }
}

TEST_CASE("costly_shapes_hold_a_bounded_number_of_elements_for_each_event", "[long]") {
  for (const auto& [name, size, play] : shapes()) {
    judged_run run(elements);
    histogram each;
    play(10 * size, run, each);
    const bool merges = std::string_view(name) == "generators merged in a chain";
    // Each consumed event there has a lineage, a split and a result of its own.
    const bool has_own_lineages = std::string_view(name) == "lineages that one activation consumes";
    const std::uint64_t max_per_event = (has_own_lineages ? 7 : 6) + (merges ? limits{}.generators : 0);
    // Each recipient is in a list of the event and in one of its agent.
    const std::uint64_t lists = std::string_view(name) == "recipients of one event" ? 2 * 10 * size : 1;
    INFO(name);
    CHECK(held(run.graph()) > 0);
    CHECK(held(run.graph()) <= max_per_event * lists * run.graph().counters().events);
  }
}

TEST_CASE("events_beyond_the_limit_of_generators_cost_no_more", "[long]") {
  const histogram each = counts_of(generators_in_a_chain, 20'000);
  CHECK(each.at(0.75) <= 28);  // the first 4,096 of 20,000 cost up to twice their number
}

TEST_CASE("nodes_take_no_more_memory_than_documented") {
  CHECK(sizeof(graph::event_node) <= 152);
  CHECK(sizeof(graph::activation_node) <= 152);
  CHECK(sizeof(graph::delivery) == 8);
}
