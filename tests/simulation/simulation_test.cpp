// Simulates some worlds in CI, and checks that the simulation notices a faulty disk.
#include <catch2/catch.hpp>

#include "tests/simulation/check.h"
#include "tests/simulation/world.h"

using namespace digd::simulation;

TEST_CASE("forty_worlds_keep_every_promise", "[long]") {
  totals sum;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    REQUIRE_NOTHROW(simulate(seed, sum));
  }
  CHECK(sum.messages > 10'000);
  CHECK(sum.detections > 100);
  CHECK(sum.at_end > 5);
  CHECK(sum.interventions > 10);
  CHECK(sum.guards_fired > 100);
  CHECK(sum.holds > 50);
  CHECK(sum.decided > 20);
  CHECK(sum.decided_late > 10);
  CHECK(sum.kills > 20);
  CHECK(sum.cuts > 100);
  CHECK(sum.paused > 0);
  CHECK(sum.held > 0);
  CHECK(sum.degraded > 0);
  CHECK(sum.commits_failed > 0);
  CHECK(sum.replayed > sum.messages);
  CHECK(sum.repeated > 0);
}

TEST_CASE("the_same_seed_gives_the_same_world", "[long]") {
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    INFO("seed " << seed);
    totals first, second;
    simulate(seed, first);
    simulate(seed, second);
    CHECK(first.messages == second.messages);
    CHECK(first.digest == second.digest);
    CHECK(first.connections == second.connections);
  }
}

TEST_CASE("a_faulty_disk_breaks_a_promise_and_is_noticed") {
  std::uint64_t noticed_early_reports = 0, noticed_losses = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    totals sum;
    try {
      simulate(seed, sum, disk::fault::durable_at_once);
    } catch (const broken_promise&) {
      ++noticed_early_reports;
    }
    try {
      simulate(seed, sum, disk::fault::forgets_at_a_kill);
    } catch (const broken_promise&) {
      ++noticed_losses;
    }
  }
  CHECK(noticed_early_reports == 20);
  CAPTURE(noticed_losses);
  CHECK(noticed_losses >= 8);  // chance decides whether a forgotten entry had been reported durable
}
