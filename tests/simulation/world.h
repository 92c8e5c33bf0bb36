// One simulated world: a monitor, its clients, their network and a disk, with what goes wrong between them; all of it
// from one seed.
#pragma once

#include <cstdint>

#include "tests/simulation/monitor.h"

namespace digd::simulation {

// Runs it to its end and adds what happened to `sum`. Throws broken_promise.
void live_through(std::uint64_t seed, totals& sum, disk::lie lie = disk::lie::none);

}  // namespace digd::simulation
