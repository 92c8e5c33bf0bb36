#include "daemon/webhook/target.h"

#include <openssl/ssl.h>

#include <algorithm>

#include "base/quote.h"
#include "daemon/webhook/signature.h"

namespace digd::daemon {

namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

// Requires TLS 1.2 or later. OpenSSL checks the receiver's certificate against these roots; net/http_exchange.h checks
// its name.
std::string load_certificates(const webhook_settings& settings, std::shared_ptr<ssl::context>& context) {
  context = std::make_shared<ssl::context>(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  error_code ec;
  context->set_verify_mode(ssl::verify_peer, ec);
  if (!ec && settings.ca_file.empty()) context->set_default_verify_paths(ec);
  if (!ec && !settings.ca_file.empty()) context->load_verify_file(settings.ca_file, ec);
  if (!ec) return {};
  return (settings.ca_file.empty() ? std::string("the system's certificates")
                                   : "the certificates in " + digd::quoted(settings.ca_file)) +
         " cannot be loaded: " + ec.message();
}

// Reads lines such as "Authorization: Bearer …". Returns a problem in words, without the values.
std::string read_headers(std::string_view lines, std::vector<std::pair<std::string, std::string>>& into) {
  constexpr std::string_view name_bytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (std::size_t number = 1; !lines.empty(); ++number) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (colon == std::string_view::npos || name.empty() || name.find_first_not_of(name_bytes) != name.npos ||
        std::any_of(line.begin(), line.end(), is_control)) {
      return "line " + std::to_string(number) + " of its headers is not written \"Name: value\"";
    }
    const std::string_view value = line.substr(std::min(line.find_first_not_of(' ', colon + 1), line.size()));
    into.emplace_back(name, value);
  }
  return {};
}

}  // namespace

std::shared_ptr<const target> make_target(const webhook_settings& settings, std::string& problem) {
  auto result = std::make_shared<target>(settings);
  problem = net::parse_http_url(settings.url, result->where);
  if (!problem.empty()) problem = "its url " + problem;
  if (problem.empty()) problem = read_secret(settings, result->secret);
  if (problem.empty() && settings.format == "otlp") problem = read_headers(result->secret, result->headers);
  if (problem.empty() && result->where.tls) problem = load_certificates(settings, result->tls);
  if (problem.empty()) return result;
  problem = "the webhook " + digd::quoted(settings.name) + " cannot be set up: " + problem;
  return nullptr;
}

}  // namespace digd::daemon
