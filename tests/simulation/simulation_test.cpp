// Simulates some worlds in CI, and checks that the simulation notices a faulty disk.
#include <catch2/catch.hpp>

#include "tests/simulation/check.h"
#include "tests/simulation/fleet_world.h"
#include "tests/simulation/world.h"

using namespace digd::simulation;

// Short enough for the sanitizers.
TEST_CASE("three_worlds_and_twenty_of_a_fleet_keep_every_promise") {
  totals sum;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) REQUIRE_NOTHROW(simulate(seed, sum));
  CHECK(sum.messages > 500);
  fleet_totals of_fleet;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) REQUIRE_NOTHROW(simulate_fleet(seed, of_fleet));
  CHECK(of_fleet.judged > 5'000);
  CHECK(of_fleet.kills > 10);
}

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

TEST_CASE("a_faulty_disk_breaks_a_promise_and_is_noticed", "[long]") {
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

TEST_CASE("no_run_of_a_fleet_has_two_homes_and_takeovers_lose_nothing", "[long]") {
  fleet_totals sum;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    REQUIRE_NOTHROW(simulate_fleet(seed, sum));
  }
  CHECK(sum.judged > 100'000);
  CHECK(sum.acked > 100'000);
  CHECK(sum.taken > 500);
  CHECK(sum.kept > 50);
  CHECK(sum.elsewhere > 5'000);
  CHECK(sum.leases_ended > 200);
  CHECK(sum.kills > 200);
  CHECK(sum.drains > 50);
  CHECK(sum.partitions > 200);
  CHECK(sum.lost > 1'000);
  CHECK(sum.stale > 1'000);
}

TEST_CASE("a_fleet_that_breaks_its_rules_is_noticed", "[long]") {
  const auto broken_of_40 = [](const fleet_faults& faults) {
    int broken = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      fleet_totals sum;
      try {
        simulate_fleet(seed, sum, faults);
      } catch (const broken_promise&) {
        ++broken;
      }
    }
    return broken;
  };
  CHECK(broken_of_40({.max_drift = 0.5}) >= 5);  // the lease's margins allow a fifth
  CHECK(broken_of_40({.judges_without_lease = true}) >= 20);
  CHECK(broken_of_40({.restores_without_marker = true}) >= 20);
}
