// `digctl attribute METHOD`: one command, one file a method. A method hangs its own subcommand below it.
#pragma once

#include <CLI/CLI.hpp>

namespace digd::cli {

// The `attribute` command, added by whichever method asks first.
inline CLI::App& attribute_methods(CLI::App& app) {
  const auto named = app.get_subcommands([](const CLI::App* sub) { return sub->get_name() == "attribute"; });
  if (!named.empty()) return *named.front();
  CLI::App* added = app.add_subcommand("attribute", "Says who and what made a run fail");
  added->require_subcommand(1);
  return *added;
}

}  // namespace digd::cli
