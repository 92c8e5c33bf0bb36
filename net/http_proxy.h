// The proxy that the environment names for a URL, by the variables that curl reads: `https_proxy` and `HTTPS_PROXY`,
// `http_proxy`, `all_proxy` and `ALL_PROXY`, and the exceptions in `no_proxy` and `NO_PROXY`.
//
// For requests to hosts outside, such as language models. Requests to a daemon and webhooks use no proxy.
// Thread: any, while nobody changes the environment.
#pragma once

#include <optional>
#include <string>

#include "net/http_url.h"

namespace digd::net {

struct http_proxy {
  http_url where;
  std::string authorization;  // the header's value for the user and password in its URL; empty: none
};

// Finds the proxy for `url`; `into` is empty if the request goes directly to the host. Returns why the proxy cannot be
// used, with the name of its variable; otherwise an empty string.
std::string proxy_for(const http_url& url, std::optional<http_proxy>& into);

}  // namespace digd::net
