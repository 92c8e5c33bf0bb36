// Sets of generators: their union with its limit, and whether two sets share a generator.
#include <catch2/catch.hpp>

#include "graph/lineage.h"

using namespace digd::graph;

namespace {

generators set_of(std::initializer_list<std::uint64_t> ordinals, std::size_t limit = 100) {
  generators set;
  for (const std::uint64_t n : ordinals) {
    set = union_of(set, single_generator(new generator(n, "v" + std::to_string(n), "ada"), limit), limit);
  }
  return set;
}

std::vector<std::uint64_t> ordinals(const generators& set) {
  std::vector<std::uint64_t> values;
  for (const auto& generator : set->members) values.push_back(generator->ordinal);
  return values;
}

}  // namespace

TEST_CASE("a_union_is_sorted_and_holds_each_generator_once") {
  CHECK(ordinals(union_of(set_of({5, 1}), set_of({3, 5, 2}), 100)) == std::vector<std::uint64_t>{1, 2, 3, 5});
}

TEST_CASE("a_union_with_nothing_itself_or_a_part_equals_the_same_set") {
  const generators a = set_of({1, 2, 3});
  CHECK(union_of(a, nullptr, 100) == a);
  CHECK(union_of(nullptr, a, 100) == a);
  CHECK(union_of(nullptr, nullptr, 100) == nullptr);
  CHECK(union_of(a, a, 100) == a);
  const generators part = set_of({2, 3});
  CHECK(ordinals(union_of(a, part, 100)) == ordinals(a));
  CHECK(ordinals(union_of(part, a, 100)) == ordinals(a));
}

TEST_CASE("a_union_overflows_beyond_the_limit_and_every_further_union_overflows_too") {
  const generators full = union_of(set_of({1, 2}), set_of({3}), 3);
  CHECK_FALSE(full->overflow);
  const generators over = union_of(full, set_of({4}), 3);
  CHECK(over->overflow);
  CHECK(union_of(over, set_of({1}), 3)->overflow);
  CHECK(union_of(set_of({1}), over, 3)->overflow);
  CHECK(union_of(over, nullptr, 3)->overflow);
  CHECK(single_generator(new generator(1, "v", "ada"), 0)->overflow);
}

TEST_CASE("several_sets_merge_into_their_union_and_visit_each_member_a_few_times") {
  const auto merged = [](generator_sets parts, std::size_t limit = 1'000) {
    merge(parts, limit);
    return parts;
  };
  CHECK(merged({}).empty());
  CHECK(merged({set_of({4})}).size() == 1);
  const generators a = set_of({1, 2}), b = set_of({2, 7}), c = set_of({9});
  CHECK(ordinals(merged({a, b, c}).front()) == std::vector<std::uint64_t>{1, 2, 7, 9});
  CHECK(merged({a, a, a}).front() == a);
  CHECK(merged({a, set_of({1, 2, 3}), a}).front()->members.size() == 3);
  CHECK_FALSE(merged({a, b, c}, 4).front()->overflow);
  CHECK(merged({a, b, c}, 3).front()->overflow);
  generator_sets many;
  for (std::uint64_t n = 0; n < 1'000; ++n) many.push_back(set_of({n}));
  CHECK(merge(many, 1'000) <= 12 * 1'000);
  REQUIRE(many.size() == 1);
  CHECK(many.front()->members.size() == 1'000);
}

TEST_CASE("sets_are_disjoint_if_both_are_known_within_the_limit_and_share_no_generator") {
  CHECK(disjoint(set_of({1, 3}), set_of({2, 4})));
  CHECK_FALSE(disjoint(set_of({1, 3}), set_of({2, 3})));
  CHECK_FALSE(disjoint(set_of({3}), set_of({1, 2, 3})));
  CHECK(disjoint(set_of({9}), set_of({1, 2, 3})));
  CHECK_FALSE(disjoint(nullptr, set_of({1})));
  CHECK_FALSE(disjoint(set_of({1}), nullptr));
  CHECK_FALSE(disjoint(nullptr, nullptr));
  const generators over = union_of(set_of({1}), set_of({2}), 1);
  CHECK_FALSE(disjoint(over, set_of({7})));
  CHECK_FALSE(disjoint(set_of({7}), over));
}
