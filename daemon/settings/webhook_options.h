// The options of a [[webhook]], as a table like that of all others (daemon/settings/option.h): reading, checking, the explained
// configuration and the schema come from it.
//
// Each option reads and writes the last webhook of the `config` that it is given.
#pragma once

#include <string>
#include <vector>

#include "daemon/settings/option.h"

namespace digd::daemon {

// In the order of config/digd.toml; names begin with "webhook.".
const std::vector<option>& webhook_options();

// What only holds of a whole webhook: a generic one is signed, times fit together. Empty if all is well.
std::string check_webhook(const webhook_settings& settings);

// What holds of all of them: how many, names that differ, an archive to read from. Empty if all is well.
std::string check_webhooks(const config& c);

// What an operator should know and may want: a webhook over plain HTTP to another machine. A line each, without
// secrets.
std::vector<std::string> webhook_warnings(const config& c);

// The webhooks of `c` as TOML, for people: of a URL only scheme, host and port are shown, for the rest may be a secret.
std::string shown_webhooks(const config& c);

// What changes from `before` to `after`, by name and without values: "webhook.pager: changed".
std::vector<std::string> webhook_changes(const config& before, const config& after);

}  // namespace digd::daemon
