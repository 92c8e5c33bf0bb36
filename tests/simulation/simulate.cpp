// digd-simulate [--seconds N] [--hours H] [--seed S] [--worlds N]: simulates worlds, one seed after the other.
//
// Each seed gives a world of one daemon and a fleet of three (fleet_world.h). Prints counts and speed. Exit code 1,
// with the seed, if a promise was broken: `--seed S --worlds 1` repeats the same world. Exit code 2 if the arguments
// are wrong.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string_view>

#include "tests/simulation/check.h"
#include "tests/simulation/fleet_world.h"
#include "tests/simulation/world.h"

using namespace digd::simulation;

namespace {

struct options {
  double seconds = 10;
  std::uint64_t seed = std::random_device{}();
  std::uint64_t worlds = std::numeric_limits<std::uint64_t>::max();
};

bool parse_options(int argc, char** argv, options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    char* end = nullptr;
    if (name == "--seconds") {
      options.seconds = std::strtod(argv[i + 1], &end);
    } else if (name == "--hours") {
      options.seconds = 3600 * std::strtod(argv[i + 1], &end);
    } else if (name == "--seed") {
      options.seed = std::strtoull(argv[i + 1], &end, 10);
    } else if (name == "--worlds") {
      options.worlds = std::strtoull(argv[i + 1], &end, 10);
    }
    if (end == nullptr || *end != '\0' || end == argv[i + 1]) return false;
  }
  return argc % 2 == 1;
}

void print(const totals& sum, const fleet_totals& fleet, std::uint64_t worlds, double seconds) {
  const auto row = [](const char* name, std::uint64_t value) {
    std::printf("%-32s %14llu\n", name, static_cast<unsigned long long>(value));
  };
  row("worlds", worlds);
  row("runs", sum.runs);
  row("messages", sum.messages);
  row("  refused", sum.refused);
  row("  held for another session", sum.held);
  row("  degraded at a limit", sum.degraded);
  row("detections", sum.detections);
  row("  at the end of a run", sum.at_end);
  row("  of guards", sum.guards_fired);
  row("holds", sum.holds);
  row("  decided by a person", sum.decided);
  row("  decided too late", sum.decided_late);
  row("interventions", sum.interventions);
  row("connections", sum.connections);
  row("connections cut", sum.cuts);
  row("sessions out of credits", sum.paused);
  row("commits that failed", sum.commits_failed);
  row("kills", sum.kills);
  row("entries recovered", sum.replayed);
  row("answers missed and sent again", sum.repeated);
  row("fleets", worlds);
  row("  entries judged", fleet.judged);
  row("  entries acknowledged", fleet.acked);
  row("  runs taken over", fleet.taken);
  row("  leases ended", fleet.leases_ended);
  row("  daemons killed", fleet.kills);
  row("  daemons cut off", fleet.partitions);
  row("  entries fenced off", fleet.stale);
  std::printf("%-32s %14.1f\n", "seconds", seconds);
  row("messages a minute", static_cast<std::uint64_t>(60 * static_cast<double>(sum.messages) / seconds));
}

}  // namespace

int main(int argc, char** argv) {
  options options;
  if (!parse_options(argc, argv, options)) {
    std::fprintf(stderr, "usage: digd-simulate [--seconds N] [--hours H] [--seed S] [--worlds N]\n");
    return 2;
  }
  std::fprintf(stderr, "first seed %llu\n", static_cast<unsigned long long>(options.seed));
  const auto started = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  };
  totals sum;
  fleet_totals fleet;
  std::uint64_t worlds = 0;
  for (double next_report = 60; worlds < options.worlds && elapsed() < options.seconds; ++worlds) {
    try {
      simulate(options.seed + worlds, sum);
      simulate_fleet(options.seed + worlds, fleet);
    } catch (const broken_promise& broken) {
      const unsigned long long seed = options.seed + worlds;
      std::fprintf(stderr, "BROKEN: %s\nrepeat: scripts/simulate --seed %llu --worlds 1\n", broken.what(), seed);
      return 1;
    }
    if (elapsed() > next_report) {
      std::fprintf(stderr, "%llu messages, %.0f s\n", static_cast<unsigned long long>(sum.messages), elapsed());
      next_report += 60;
    }
  }
  print(sum, fleet, worlds, elapsed());
  return 0;
}
