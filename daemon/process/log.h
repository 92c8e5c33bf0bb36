// The log on standard error, as text or JSON: an event's name, then `name=value` pairs. Names that agents chose are
// quoted (base/quote.h). Payloads are never logged. Any thread.
#pragma once

#include "daemon/settings/config.h"

namespace digd::daemon {

void open_log(const log_settings& settings);
void set_log_level(const log_settings& settings);

}  // namespace digd::daemon
