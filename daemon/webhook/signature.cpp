#include "daemon/webhook/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "base/quote.h"

namespace digd::daemon {

namespace {

constexpr std::size_t shortest_secret = 16, longest_secret = 4'096;

}  // namespace

std::string signature_of(std::string_view secret, std::int64_t timestamp_s, std::string_view body) {
  std::string text = std::to_string(timestamp_s) + '.';
  text += body;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  // SHA-256 is always there: no failure to tell of.
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size);
  constexpr char hex[] = "0123456789abcdef";
  std::string out = "v1=";
  for (unsigned int i = 0; i < size; ++i) {
    out += hex[digest[i] >> 4];
    out += hex[digest[i] & 15];
  }
  return out;
}

std::string read_secret(const webhook_settings& of, std::string& secret) {
  secret.clear();
  std::string where;
  if (!of.secret_env.empty()) {
    where = "the environment variable " + quoted(of.secret_env);
    const char* value = std::getenv(of.secret_env.c_str());
    if (value == nullptr) return where + ", which should hold the secret, is not set";
    secret = value;
  } else if (!of.secret_file.empty()) {
    where = "the file " + quoted(of.secret_file);
    std::ifstream file(of.secret_file, std::ios::binary);
    secret.resize(longest_secret + 2);
    file.read(secret.data(), static_cast<std::streamsize>(secret.size()));
    if (!file.is_open() || file.bad()) {
      secret.clear();
      return where + ", which should hold the secret, cannot be read";
    }
    secret.resize(static_cast<std::size_t>(file.gcount()));
    if (secret.ends_with('\n')) secret.pop_back();
    if (secret.ends_with('\r')) secret.pop_back();
  } else {
    return {};
  }
  if (secret.size() >= shortest_secret && secret.size() <= longest_secret) return {};
  secret.clear();
  return where + " should hold a secret of " + std::to_string(shortest_secret) + " to " +
         std::to_string(longest_secret) + " bytes";
}

}  // namespace digd::daemon
