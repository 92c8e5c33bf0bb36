#include "net/new_token.h"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <array>

namespace digd::net {

namespace {

template <std::size_t N>
std::string hex_of(const std::array<unsigned char, N>& bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

}  // namespace

std::optional<new_token> make_token() {
  std::array<unsigned char, 32> random;
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) return {};
  new_token made{.secret = hex_of(random), .sha256 = {}};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash;
  SHA256(reinterpret_cast<const unsigned char*>(made.secret.data()), made.secret.size(), hash.data());
  made.sha256 = hex_of(hash);
  return made;
}

}  // namespace digd::net
