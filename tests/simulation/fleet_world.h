// A fleet of daemons around the real protocol of homes (daemon/fleet/homes): leases, searches, takeovers, fencing. The
// server of the bucket and the stream is a model, and so are the network and the daemons' clocks, which drift. Requests
// and replies are late, lost or cut off; daemons are killed, restarted and drained. All follow one seeded clock.
//
// It checks that no run is judged by two homes, and that a takeover restores every acknowledged entry.
#pragma once

#include <cstdint>

namespace digd::simulation {

struct fleet_totals {
  std::uint64_t judged = 0, acked = 0, restored = 0;
  std::uint64_t opened = 0, kept = 0, taken = 0, elsewhere = 0, unavailable = 0;
  std::uint64_t kills = 0, drains = 0, partitions = 0, lost = 0, leases_ended = 0, stale = 0;
};

struct fleet_faults {
  double max_drift = 0.05;               // of each clock: faster or slower by up to this share
  bool judges_without_lease = false;     // the daemons ignore the end of their lease
  bool restores_without_marker = false;  // a new home does not fence the old one's entries off
};

// Throws broken_promise (check.h).
void simulate_fleet(std::uint64_t seed, fleet_totals& sum, const fleet_faults& faults = {});

}  // namespace digd::simulation
