// Growth by counts: how many elements of lists the graph and the rules look at for an event, in long runs and in shapes
// made to hurt.
//
// The same shapes are timed by bench/growth.cpp; a count does not depend on the machine, so here it is a test. The
// bounds are those that docs/performance.md states.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "bench/shapes.h"

using namespace digd;
using namespace digd::bench;

namespace {

std::uint64_t elements(const run& r) { return r.graph().counters().looked_at; }

histogram counts_of(const shape& play, std::uint64_t size) {
  judged_run run(elements);
  histogram each;
  play(size, run, each);
  return each;
}

// Elements that the graph holds in lists: what its memory grows with beside its nodes. What several share counts once.
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

TEST_CASE("growth: an event of a long run costs what one of a short run does") {
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

TEST_CASE("growth: shapes made to hurt stay within their bounds") {
  // Of a message of one event, or of one element where a message has many, at most; `pending` adds what waits at its
  // recipient.
  struct bound {
    std::uint64_t fixed = 0, generators = 0;
    bool pending = false;
  };
  const std::map<std::string, bound> bounds{
      {"events pending at one agent", {.fixed = 4}},
      {"events of one lineage pending at one agent", {.fixed = 6}},
      {"generators merged in a chain", {.fixed = 24, .generators = 2 * limits{}.generators}},
      {"recipients of one event", {.fixed = 4}},
      {"submits in a row", {.fixed = 12}},
      {"inputs of one activation", {.fixed = 8}},
      {"events of a layer that settles at once", {.fixed = 20}},
  };
  REQUIRE(bounds.size() == shapes().size());
  for (const auto& [name, size, play] : shapes()) {
    const bound& most = bounds.at(name);
    for (const std::uint64_t n : {size, 10 * size}) {
      INFO(name << " at " << n);
      const histogram each = counts_of(play, n);
      REQUIRE(each.count() > 0);
      CHECK(each.most() > 0);
      CHECK(each.most() <= most.fixed + most.generators + (most.pending ? n : 0));
    }
  }
}

TEST_CASE("growth: shapes made to hurt hold a handful of elements an event, and its lineage") {
  for (const auto& [name, size, play] : shapes()) {
    judged_run run(elements);
    histogram each;
    play(10 * size, run, each);
    const bool merges = std::string_view(name) == "generators merged in a chain";
    const std::uint64_t an_event = 6 + (merges ? limits{}.generators : 0);
    const std::uint64_t given =
        std::string_view(name) == "recipients of one event" ? 2 * 10 * size : 1;  // the event's, and at the agent
    INFO(name);
    CHECK(held(run.graph()) > 0);
    CHECK(held(run.graph()) <= an_event * given * run.graph().counters().events);
  }
}

TEST_CASE("growth: what is over the limit of generators costs no more") {
  const histogram each = counts_of(generators_in_a_chain, 20'000);
  CHECK(each.at(0.75) <= 24);  // the first 4,096 of 20,000 cost up to twice their number
}

TEST_CASE("growth: an event kept takes no more memory than stated") {
  CHECK(sizeof(graph::event_node) <= 144);
  CHECK(sizeof(graph::activation_node) <= 136);
  CHECK(sizeof(graph::delivery) == 8);
}
