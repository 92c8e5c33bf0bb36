// The log: one line a fact on standard error, as text or JSON. `name=value` words; names that agents chose are
// quoted (engine/quote.h), payloads never appear. Any thread.
#pragma once

#include "daemon/settings/config.h"

namespace digd::daemon {

void open_log(const log_settings& settings);
void set_log_level(const log_settings& settings);

}  // namespace digd::daemon
