// A webhook ready to be posted to: its settings with the URL taken apart, the secret read, the certificates loaded.
//
// Immutable, so that a reload replaces it as a whole while attempts under way go on with the one they took.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "daemon/settings/endpoint.h"
#include "daemon/webhook/filter.h"
#include "daemon/settings/webhook_settings.h"

namespace digd::daemon {

struct target {
  explicit target(webhook_settings s) : settings(std::move(s)), filter(settings) {}

  const webhook_settings settings;
  const callback_filter filter;
  endpoint where;
  std::string secret;                            // empty: not signed. Never shown
  std::optional<boost::asio::ssl::context> tls;  // of an https URL
};

// Reads the secret and the certificates. Null with `why` in words if that cannot be.
std::shared_ptr<const target> make_target(const webhook_settings& from, std::string& why);

}  // namespace digd::daemon
