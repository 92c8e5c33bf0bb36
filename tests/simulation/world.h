// One simulated world: a monitor, its clients, their network and a disk, with random faults. A seed determines it all.
#pragma once

#include <cstdint>

#include "tests/simulation/monitor.h"

namespace digd::simulation {

// Simulates the world to its end and adds its counts to `sum`. Throws broken_promise.
void simulate(std::uint64_t seed, totals& sum, disk::fault fault = disk::fault::none);

}  // namespace digd::simulation
