// Settings that are valid and open the daemon further than the operator may expect.
#pragma once

#include <string>
#include <vector>

#include "daemon/settings/config.h"

namespace digd::daemon {

// Sentences about addresses that others reach without TLS, secrets that other users can read, and token files that they
// can change. It looks at the files.
std::vector<std::string> access_warnings(const config& c);

}  // namespace digd::daemon
