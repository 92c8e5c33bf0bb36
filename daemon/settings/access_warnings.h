// Warns of settings that are valid but expose the daemon more than the operator may expect.
#pragma once

#include <string>
#include <vector>

#include "daemon/settings/config.h"

namespace digd::daemon {

// Returns warnings about addresses that other machines reach without TLS, secrets that other users can read, and token
// files that they can change. Reads the files' permissions.
std::vector<std::string> access_warnings(const config& c);

}  // namespace digd::daemon
