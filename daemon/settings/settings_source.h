// Where the settings come from: the defaults, the file, the environment, the command line; the later goes before the
// earlier. Read at the start, and again on SIGHUP.
#pragma once

#include <string>
#include <vector>

#include "daemon/settings/config.h"

namespace digd::daemon {

struct settings_source {
  std::string file;              // empty: none
  std::string listen, data_dir;  // of the command line; empty: not given
};

// Reads all of it into `into`. What is wrong comes back in words, a line each, with its place where it has one
// ("file:line:column: what"); empty if nothing is. The data directory is settled too.
std::string read_settings(const settings_source& from, config& into);

// What a reload does: `next` is what holds from then on, with what needs a restart as it was.
struct reload_plan {
  config next;
  std::vector<std::string> changed;         // "credits: 1024 -> 4096 (to new runs)"
  std::vector<std::string> need_a_restart;  // names of options; they stay as they are
};
reload_plan plan_reload(const config& holds, const config& read);

}  // namespace digd::daemon
