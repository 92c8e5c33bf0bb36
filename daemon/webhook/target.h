// A webhook that digd can post to: its settings, the parts of its URL, its secret and its certificates.
//
// Constant: a reload replaces the whole target, and attempts in progress keep the one they began with.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/settings/webhook_settings.h"
#include "daemon/webhook/filter.h"
#include "net/http_url.h"

namespace digd::daemon {

struct target {
  explicit target(webhook_settings s) : settings(std::move(s)), filter(settings) {}

  const webhook_settings settings;
  const callback_filter filter;
  net::http_url where;
  std::string secret;                                        // empty: callbacks are not signed. Never logged or shown
  std::vector<std::pair<std::string, std::string>> headers;  // of [otlp_export], from `secret`. Never logged or shown
  std::shared_ptr<boost::asio::ssl::context> tls;            // for an https URL
};

// Reads the secret and the certificates. On failure it returns null and `problem` is a sentence.
std::shared_ptr<const target> make_target(const webhook_settings& settings, std::string& problem);

}  // namespace digd::daemon
