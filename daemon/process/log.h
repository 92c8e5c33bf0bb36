// The log on standard error, as text or JSON: an event's name, then `name=value` pairs. Names that agents chose are
// quoted (base/quote.h). Payloads are never logged.
//
// Thread: any may log; only the main one opens and closes the log. A thread of its own writes the lines, so that no
// caller waits for the reader of standard error. Bounds: `max_log_lines` wait; beyond that the oldest is dropped and
// counted (`digd_log_dropped_total`).
#pragma once

#include <chrono>
#include <cstddef>

#include "daemon/settings/config.h"

namespace digd::daemon {

inline constexpr std::size_t max_log_lines = 8'192;
inline constexpr std::chrono::milliseconds max_log_close_time{1'000};

void open_log(const log_settings& settings);
// Waits until all lines are written, at most `max_log_close_time`. Later lines are dropped.
void close_log();
void set_log_level(const log_settings& settings);

}  // namespace digd::daemon
