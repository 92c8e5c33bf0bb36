// The signature of a callback, and the secret that it is made with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/settings/webhook_settings.h"

namespace digd::daemon {

// HMAC-SHA256 (RFC 2104) in lower-case hex.
std::string hmac_hex(std::string_view key, std::string_view text);

// The value of Digd-Signature: "v1=" and the HMAC-SHA256 of `timestamp "." body` in lower-case hex.
std::string signature_of(std::string_view secret, std::int64_t timestamp_s, std::string_view body);

// Reads the secret from the file or the environment variable in the settings; `secret` is empty if they name neither.
// Returns a problem in words, which never contain the secret; otherwise an empty string.
std::string read_secret(const webhook_settings& settings, std::string& secret);

}  // namespace digd::daemon
