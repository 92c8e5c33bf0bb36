// The options of [fleet]. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "daemon/settings/config.h"
#include "daemon/settings/option.h"

namespace digd::daemon {

inline constexpr const char* fleet_meaning =
    "Publishes what the archive stores to a stream of NATS JetStream, for a fleet of daemons: docs/fleet.md. By "
    "default digd belongs to no fleet. Needs a digd that was built with the client of NATS.";

void add_fleet_options(std::vector<option>& table);

// Whether this program contains the client of NATS (CMake: DIGD_FLEET).
bool has_stream_client();

// Returns what is wrong with the section, in words; otherwise an empty string. Without `can_publish`, every fleet is
// wrong.
std::string check_fleet(const config& c, bool can_publish = has_stream_client());

}  // namespace digd::daemon
