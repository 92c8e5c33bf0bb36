// The option table as files: a configuration with its comments, the configuration that holds, the JSON schema.
#pragma once

#include <string>

#include "daemon/settings/config.h"

namespace digd::daemon {

// config/digd.toml: every option with meaning, default, range and what a change needs; the values commented out.
std::string commented_config();

// Every option with the value it has in `c`, as TOML. Reads back as `c`, but for the urls of webhooks, of which only
// the host is shown.
std::string effective_config(const config& c);

// config/digd.schema.json, JSON Schema 2020-12.
std::string config_schema();

// The environment variable of an option: DIGD_LOG__LEVEL of "log.level".
std::string environment_name(const std::string& option_name);

}  // namespace digd::daemon
