// The table of the options, except those of [[webhook]] and [prices]. It is the only list of them. config/digd.toml,
// config/digd.schema.json, `--check-config`, the environment and reloads come from it; tests compare the two files
// with it.
//
// Thread: any; the table is constant, and lives as long as the process.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/settings/option.h"

namespace digd::daemon {

// In the order of config/digd.toml.
const std::vector<option>& options();

// The paragraph above a section in config/digd.toml; may be empty.
std::string_view section_meaning(std::string_view section);

// The option whose name is closest to a misspelled one, including webhooks' options; null if none is close.
const option* nearest_option(std::string_view name);

}  // namespace digd::daemon
