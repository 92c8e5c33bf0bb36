// The option table as files: the default configuration with comments, the effective configuration, the JSON schema.
#pragma once

#include <string>

#include "daemon/settings/config.h"

namespace digd::daemon {

// config/digd.toml: each option with its meaning, default, range and when a change takes effect; values commented out.
std::string commented_config();

// Each option with its value in `c`, as TOML. Reads back as `c`, except that webhooks' URLs are cut after the host.
std::string effective_config(const config& c);

// config/digd.schema.json, JSON Schema 2020-12.
std::string config_schema();

// The environment variable of an option: DIGD_LOG__LEVEL for "log.level".
std::string environment_name(const std::string& option_name);

}  // namespace digd::daemon
