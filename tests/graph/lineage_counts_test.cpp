// The lineages that wait at an agent, counted by their events.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "graph/lineage_counts.h"

using namespace digd::graph;

namespace {

std::vector<generators> lineages(std::uint64_t count) {
  std::vector<generators> sets;
  for (std::uint64_t n = 1; n <= count; ++n) sets.push_back(single_generator(new generator(n, "v", "ada"), 10));
  return sets;
}

// The ordinals of the lineages, each as often as it has events.
std::multiset<std::uint64_t> held(const lineage_counts& counts) {
  std::multiset<std::uint64_t> ordinals;
  for (const pending_lineage& lineage : counts) {
    for (std::uint32_t i = 0; i < lineage.events; ++i) ordinals.insert(lineage.from->members.front()->ordinal);
  }
  return ordinals;
}

}  // namespace

TEST_CASE("a_lineage_leaves_with_its_last_event") {
  // Short lists are searched, long ones have an index.
  for (const std::uint64_t count : {1, 3, 8, 9, 40}) {
    INFO(count);
    const std::vector<generators> sets = lineages(count);
    lineage_counts counts;
    std::multiset<std::uint64_t> expected;
    const auto add = [&](std::uint64_t n) {
      counts.add(sets[n - 1]);
      expected.insert(n);
    };
    const auto drop = [&](std::uint64_t n) {
      counts.drop(sets[n - 1]);
      expected.erase(expected.find(n));
    };
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t n = 1; n <= count; ++n) add(n);
      for (std::uint64_t n = 1; n <= count; n += 2) add(n);
      CHECK(counts.size() == count);
      for (std::uint64_t n = 1; n <= count; ++n) drop(n);
      CHECK(held(counts) == expected);
      CHECK(counts.size() == (count + 1) / 2);
      add(1);  // to a list that became short again
      for (std::uint64_t n = 1; n <= count; n += 2) drop(n);
      CHECK(held(counts) == expected);
      drop(1);
      CHECK(counts.size() == 0);
    }
  }
}

TEST_CASE("an_event_of_one_of_many_lineages_visits_few") {
  const std::vector<generators> sets = lineages(1'000);
  lineage_counts counts;
  std::size_t max_visited = 0;
  for (const generators& from : sets) max_visited = std::max(max_visited, counts.add(from));
  for (const generators& from : sets) max_visited = std::max(max_visited, counts.drop(from));
  CHECK(max_visited <= 10);
}
