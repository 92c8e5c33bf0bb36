// Worlds lived through in CI, and that the simulation notices a disk that lies.
#include <catch2/catch.hpp>

#include "tests/simulation/check.h"
#include "tests/simulation/world.h"

using namespace digd::simulation;

TEST_CASE("in some tens of worlds every promise is kept") {
  totals sum;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    REQUIRE_NOTHROW(live_through(seed, sum));
  }
  CHECK(sum.messages > 10'000);
  CHECK(sum.detections > 100);
  CHECK(sum.at_end > 5);
  CHECK(sum.interventions > 10);
  CHECK(sum.kills > 20);
  CHECK(sum.cuts > 100);
  CHECK(sum.paused > 0);
  CHECK(sum.held > 0);
  CHECK(sum.gave_way > 0);
  CHECK(sum.commits_failed > 0);
  CHECK(sum.replayed > sum.messages);
}

TEST_CASE("the same seed is the same world") {
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    INFO("seed " << seed);
    totals first, again;
    live_through(seed, first);
    live_through(seed, again);
    CHECK(first.messages == again.messages);
    CHECK(first.digest == again.digest);
    CHECK(first.connections == again.connections);
  }
}

TEST_CASE("a disk that lies is noticed") {
  std::uint64_t early = 0, forgetful = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    totals sum;
    try {
      live_through(seed, sum, disk::lie::durable_at_once);
    } catch (const broken_promise&) {
      ++early;
    }
    try {
      live_through(seed, sum, disk::lie::forgets_at_a_kill);
    } catch (const broken_promise&) {
      ++forgetful;
    }
  }
  CHECK(early == 20);
  CAPTURE(forgetful);
  CHECK(forgetful >= 8);  // whether anything is forgotten that anybody was told of is chance
}
