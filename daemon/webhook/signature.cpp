#include "daemon/webhook/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/hex.h"
#include "base/quote.h"

namespace digd::daemon {

namespace {

constexpr std::size_t min_secret_bytes = 16, max_secret_bytes = 4'096;

}  // namespace

std::string hmac_hex(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  // Cannot fail: OpenSSL always has SHA-256.
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), digest.data(), &size);
  return to_hex(digest.data(), size);
}

std::string signature_of(std::string_view secret, std::int64_t timestamp_s, std::string_view body) {
  std::string signed_text = std::to_string(timestamp_s) + '.';
  signed_text += body;
  return "v1=" + hmac_hex(secret, signed_text);
}

std::string read_secret(const webhook_settings& settings, std::string& secret) {
  secret.clear();
  const std::string content = settings.format == "otlp" ? "the headers" : "the secret";
  std::string source;
  if (!settings.secret_env.empty()) {
    source = "the environment variable " + digd::quoted(settings.secret_env);
    const char* value = std::getenv(settings.secret_env.c_str());
    if (value == nullptr) return source + ", which must hold " + content + ", is not set";
    secret = value;
  } else if (!settings.secret_file.empty()) {
    source = "the file " + digd::quoted(settings.secret_file);
    errno = 0;
    std::ifstream file(settings.secret_file, std::ios::binary);
    secret.resize(max_secret_bytes + 2);
    file.read(secret.data(), static_cast<std::streamsize>(secret.size()));
    if (!file.is_open() || file.bad()) {
      const std::string reason = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
      secret.clear();
      return source + ", which must hold " + content + ", cannot be read" + reason;
    }
    secret.resize(static_cast<std::size_t>(file.gcount()));
    if (secret.ends_with('\n')) secret.pop_back();
    if (secret.ends_with('\r')) secret.pop_back();
  } else {
    return {};
  }
  if (secret.size() >= min_secret_bytes && secret.size() <= max_secret_bytes) return {};
  secret.clear();
  return source + " must hold " + content + ": " + std::to_string(min_secret_bytes) + " to " +
         std::to_string(max_secret_bytes) + " bytes";
}

}  // namespace digd::daemon
