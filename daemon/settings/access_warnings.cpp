#include "daemon/settings/access_warnings.h"

#include <sys/stat.h>

#include <utility>

#include "base/quote.h"
#include "daemon/settings/address.h"

namespace digd::daemon {

namespace {

// Whether users other than the owner have one of these permissions; false if there is no such file.
bool others_have(const std::string& file, mode_t permissions) {
  struct stat found {};
  return !file.empty() && ::stat(file.c_str(), &found) == 0 && (found.st_mode & permissions) != 0;
}

}  // namespace

std::vector<std::string> access_warnings(const config& c) {
  std::vector<std::string> texts;
  for (const std::string& address : {c.listen, c.operator_listen}) {
    listen_address where;
    std::string ignored;
    if (!parse_address(address, where, ignored) || is_local(where) || !c.tls.certificate.empty()) continue;
    texts.push_back(
        "digd listens on " + digd::quoted(address) +
        " without TLS: anyone on the network path can read tokens and messages; set tls.certificate and tls.key");
  }
  std::vector<std::pair<std::string, std::string>> secrets = {{"tls.key", c.tls.key}};
  if (c.fleet.is_view() || !c.fleet.servers.empty()) secrets.emplace_back("fleet.credentials", c.fleet.credentials);
  for (const webhook_settings& webhook : c.webhooks) {
    secrets.emplace_back("the webhook " + digd::quoted(webhook.name), webhook.secret_file);
  }
  if (!c.otlp_export.url.empty()) secrets.emplace_back("otlp_export", c.otlp_export.headers_file);
  for (const auto& [name, file] : secrets) {
    if (!others_have(file, S_IROTH | S_IWOTH | S_IWGRP)) continue;
    texts.push_back("other users can read or change the secret of " + name + ", " + digd::quoted(file) +
                    "; chmod 600 it");
  }
  if (others_have(c.tokens, S_IWOTH | S_IWGRP)) {
    texts.push_back("other users can change the tokens in " + digd::quoted(c.tokens) + "; chmod 600 it");
  }
  return texts;
}

}  // namespace digd::daemon
