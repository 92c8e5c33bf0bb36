#include "daemon/webhook/target.h"

#include <openssl/ssl.h>

#include "base/quote.h"
#include "daemon/webhook/signature.h"

namespace digd::daemon {

namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

// TLS 1.2 or later; the receiver's certificate is checked against these roots, and the name when the connection is
// made.
std::string load_certificates(const webhook_settings& from, std::optional<ssl::context>& into) {
  into.emplace(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(into->native_handle(), TLS1_2_VERSION);
  error_code ec;
  into->set_verify_mode(ssl::verify_peer, ec);
  if (!ec && from.ca_file.empty()) into->set_default_verify_paths(ec);
  if (!ec && !from.ca_file.empty()) into->load_verify_file(from.ca_file, ec);
  if (!ec) return {};
  return (from.ca_file.empty() ? std::string("the system's certificates")
                               : "the certificates in " + quoted(from.ca_file)) +
         " cannot be loaded: " + ec.message();
}

}  // namespace

std::shared_ptr<const target> make_target(const webhook_settings& from, std::string& why) {
  auto made = std::make_shared<target>(from);
  why = parse_endpoint(from.url, made->where);
  if (!why.empty()) why = "its url " + why;
  if (why.empty()) why = read_secret(from, made->secret);
  if (why.empty() && made->where.tls) why = load_certificates(from, made->tls);
  if (why.empty()) return made;
  why = "the webhook " + quoted(from.name) + " cannot be set up: " + why;
  return nullptr;
}

}  // namespace digd::daemon
