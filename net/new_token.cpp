#include "net/new_token.h"

#include <openssl/sha.h>

#include <array>

#include "base/entropy.h"
#include "base/hex.h"

namespace digd::net {

std::optional<new_token> make_token() {
  std::array<unsigned char, 32> random;
  if (!random_bytes(random)) return {};
  new_token made{.secret = to_hex(random.data(), random.size()), .sha256 = {}};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash;
  SHA256(reinterpret_cast<const unsigned char*>(made.secret.data()), made.secret.size(), hash.data());
  made.sha256 = to_hex(hash.data(), hash.size());
  return made;
}

}  // namespace digd::net
