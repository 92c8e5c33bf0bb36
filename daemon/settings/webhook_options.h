// The options of a [[webhook]], as a table like that of the other options (settings/options.h).
//
// Each option reads and writes the last webhook of its `config`.
#pragma once

#include <string>
#include <vector>

#include "daemon/settings/option.h"

namespace digd::daemon {

// In the order of config/digd.toml; names begin with "webhook.".
const std::vector<option>& webhook_options();

// Checks what depends on several options of a webhook, such as its secret. Returns a problem, or nothing.
std::string check_webhook(const webhook_settings& settings);

// Checks what concerns all webhooks: their number, their names, and that there is an archive. Returns a problem, or
// nothing.
std::string check_webhooks(const config& c);

// Warnings, a line each, without secrets: webhooks, or [otlp_export], over plain HTTP to another machine.
std::vector<std::string> webhook_warnings(const config& c);

// The webhooks of `c` as TOML, for people. URLs are cut after the port, because the path may be a secret.
std::string shown_webhooks(const config& c);

// The changes from `before` to `after`, by name and without values: "webhook.pager: changed".
std::vector<std::string> webhook_changes(const config& before, const config& after);

}  // namespace digd::daemon
