// `digctl attribute METHOD`: each method has its own file and adds its own subcommand.
#pragma once

#include <CLI/CLI.hpp>

namespace digd::cli {

// The `attribute` command; the first call adds it.
inline CLI::App& attribute_methods(CLI::App& app) {
  const auto named = app.get_subcommands([](const CLI::App* sub) { return sub->get_name() == "attribute"; });
  if (!named.empty()) return *named.front();
  CLI::App* added = app.add_subcommand("attribute", "Names the agent and the step that made a run fail");
  added->require_subcommand(1);
  return *added;
}

}  // namespace digd::cli
