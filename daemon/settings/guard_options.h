// The options of the guards, `guards.NAME.…`, as a part of the table of options.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/settings/option.h"

namespace digd::daemon {

void add_guard_options(std::vector<option>& table);

// As `section_meaning`; empty: no section of guards.
std::string_view guard_section_meaning(std::string_view section);

}  // namespace digd::daemon
