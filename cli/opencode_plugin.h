// The plugin that `digctl attach opencode` writes: opencode_plugin.js, with the daemon's address in it.
#pragma once

#include <string>
#include <string_view>

#include "cli/settings_file.h"

namespace digd::cli {

// It lists no hooks: its plugin has them.
const hooked_program& opencode_program();

// Whether `attach` wrote this file.
bool is_opencode_plugin(std::string_view text);

// `address`: where the plugin sends hooks; it has no quotes.
std::string opencode_plugin(std::string_view address);

}  // namespace digd::cli
