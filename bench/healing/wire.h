// Writes the messages of the simulated system as a client of digd sends them: one JSON object a line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/healing/monitor.h"

namespace digd::bench {

// The settings that an arm requests, as members of the hello: `"mode":"enforce","rules":{…}`.
using regime = std::string;

std::string hello_line(const std::string& run, const std::vector<std::string>& agents, const parameters& parameters,
                       const regime& asks);
std::string message_line(const report& report, std::uint64_t seq);

}  // namespace digd::bench
