// The signature of a callback and the secret behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/settings/webhook_settings.h"

namespace digd::daemon {

// "v1=" and the lower-case hex HMAC-SHA256 (RFC 2104) of `timestamp "." body`: the value of Digd-Signature.
std::string signature_of(std::string_view secret, std::int64_t timestamp_s, std::string_view body);

// Reads the secret from where the settings say; `secret` is empty if they name no place. What is wrong comes back in
// words, which never hold the secret.
std::string read_secret(const webhook_settings& of, std::string& secret);

}  // namespace digd::daemon
