// The sources of the settings: defaults, file, environment, command line; later ones override earlier ones. Read at the
// start, and again on SIGHUP.
#pragma once

#include <string>
#include <vector>

#include "daemon/settings/config.h"

namespace digd::daemon {

struct settings_source {
  std::string file;              // empty: none
  std::string listen, data_dir;  // from the command line; empty: not given
};

// Reads all sources, and decides the data directory. Returns the problems, a line each, with their place if they have
// one ("file:line:column: sentence"); otherwise an empty string.
std::string read_settings(const settings_source& from, config& into);

// The effect of a reload. `next` is the new configuration; options that need a restart keep their values.
struct reload_plan {
  config next;
  std::vector<std::string> changed;         // "credits: 1024 -> 4096 (to new runs)"
  std::vector<std::string> need_a_restart;  // names of options
};
reload_plan plan_reload(const config& current, const config& read);

}  // namespace digd::daemon
