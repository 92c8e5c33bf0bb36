// Reads the text of a configuration file, and checks a configuration.
//
// Thread: any; it keeps no state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/settings/config.h"

namespace digd::daemon {

// Reads TOML into `into`, which has the defaults. Returns the problems, each as "file:line:column: sentence"; none if
// the text is valid.
std::vector<std::string> load_config(std::string_view text, std::string_view file, config& into);

// Checks what depends on several options, such as an address that needs tokens. Returns a problem, or nothing.
std::string check_config(const config& c);

}  // namespace digd::daemon
