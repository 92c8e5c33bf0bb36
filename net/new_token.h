// New bearer tokens. digd keeps only the SHA-256 of a token (docs/security.md).
#pragma once

#include <optional>
#include <string>

namespace digd::net {

struct new_token {
  std::string secret;  // 64 hex digits, from base/entropy.h
  std::string sha256;  // of the secret, in hex: for the tokens file
};

// nullopt: the system has no random numbers.
std::optional<new_token> make_token();

}  // namespace digd::net
