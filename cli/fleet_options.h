// The options that name a fleet (docs/fleet.md), for commands that read runs.
//
// Thread: main's; `common_fleet` is one value for the process.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace digd::cli {

struct fleet_options {
  std::vector<std::string> urls;  // empty: no fleet is asked
  std::string where, credentials, authority;
};

// `digctl --fleet URL COMMAND` means the same as `digctl COMMAND --fleet URL`.
fleet_options& common_fleet();
void add_common_fleet_options(CLI::App& app);
void add_fleet_options(CLI::App& app, fleet_options& options);
// The same without the selection of runs.
void add_fleet_access(CLI::App& app, fleet_options& options);
// The options of the command with those that stand before it.
fleet_options effective_fleet(const fleet_options& options);

}  // namespace digd::cli
