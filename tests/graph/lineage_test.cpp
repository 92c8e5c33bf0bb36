// Sets of generators: union with its limit, and whether two have anything in common.
#include <catch2/catch.hpp>

#include "graph/lineage.h"

using namespace digd::graph;

namespace {

generators of(std::initializer_list<std::uint64_t> ordinals, std::size_t limit = 100) {
  generators generators;
  for (const std::uint64_t n : ordinals) {
    generators = united(generators, single_generator(new generator(n, "v" + std::to_string(n), "ada"), limit), limit);
  }
  return generators;
}

std::vector<std::uint64_t> ordinals(const generators& set) {
  std::vector<std::uint64_t> values;
  for (const auto& generator : set->members) values.push_back(generator->ordinal);
  return values;
}

}  // namespace

TEST_CASE("a union is sorted and holds each generator once") {
  CHECK(ordinals(united(of({5, 1}), of({3, 5, 2}), 100)) == std::vector<std::uint64_t>{1, 2, 3, 5});
}

TEST_CASE("a union with nothing, with itself and with a part is the same set again") {
  const generators a = of({1, 2, 3});
  CHECK(united(a, nullptr, 100) == a);
  CHECK(united(nullptr, a, 100) == a);
  CHECK(united(nullptr, nullptr, 100) == nullptr);
  CHECK(united(a, a, 100) == a);
  const generators part = of({2, 3});
  CHECK(ordinals(united(a, part, 100)) == ordinals(a));
  CHECK(ordinals(united(part, a, 100)) == ordinals(a));
}

TEST_CASE("a union at the limit holds, beyond it overflows and stays so") {
  const generators full = united(of({1, 2}), of({3}), 3);
  CHECK_FALSE(full->overflow);
  const generators over = united(full, of({4}), 3);
  CHECK(over->overflow);
  CHECK(united(over, of({1}), 3)->overflow);
  CHECK(united(of({1}), over, 3)->overflow);
  CHECK(united(over, nullptr, 3)->overflow);
  CHECK(single_generator(new generator(1, "v", "ada"), 0)->overflow);
}

TEST_CASE("disjoint: both known, within the limit, and nothing in common") {
  CHECK(disjoint(of({1, 3}), of({2, 4})));
  CHECK_FALSE(disjoint(of({1, 3}), of({2, 3})));
  CHECK_FALSE(disjoint(of({3}), of({1, 2, 3})));
  CHECK(disjoint(of({9}), of({1, 2, 3})));
  CHECK_FALSE(disjoint(nullptr, of({1})));
  CHECK_FALSE(disjoint(of({1}), nullptr));
  CHECK_FALSE(disjoint(nullptr, nullptr));
  const generators over = united(of({1}), of({2}), 1);
  CHECK_FALSE(disjoint(over, of({7})));
  CHECK_FALSE(disjoint(of({7}), over));
}
