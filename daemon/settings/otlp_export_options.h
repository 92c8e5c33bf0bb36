// The options of [otlp_export]. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/settings/config.h"
#include "daemon/settings/option.h"
#include "daemon/settings/webhook_settings.h"

namespace digd::daemon {

inline constexpr const char* otlp_export_meaning =
    "Sends runs, detections and interventions as OpenTelemetry spans to an OTLP/HTTP receiver: docs/otlp.md. By "
    "default digd exports nothing.";

// The name of the export among the webhooks: in the log, in /v1/webhooks and in the metrics.
inline constexpr std::string_view otlp_export_name = "otlp_export";

void add_otlp_export_options(std::vector<option>& table);

// Returns what is wrong with the section, in words; otherwise an empty string.
std::string check_otlp_export(const config& c);

// The webhooks of the configuration and, if the export is on, the export as one more webhook: it uses the same queues,
// retries and counters.
std::vector<webhook_settings> receivers_of(const config& c);

}  // namespace digd::daemon
