#include "net/http_proxy.h"

#include <openssl/evp.h>

#include <boost/url/pct_string_view.hpp>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace digd::net {

namespace {

struct variable {
  std::string_view name, value;
};

// The first of the variables that is set and not empty.
variable first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return {name, value};
  }
  return {};
}

// Entries are names, which stand for their subdomains too, addresses, or `*` for every host.
bool is_excepted(const std::string& host, std::string_view exceptions) {
  while (!exceptions.empty()) {
    const std::size_t end = exceptions.find_first_of(", ");
    std::string_view entry = exceptions.substr(0, end);
    exceptions.remove_prefix(end == std::string_view::npos ? exceptions.size() : end + 1);
    if (entry == "*") return true;
    if (entry.starts_with('.')) entry.remove_prefix(1);
    if (entry.empty() || !host.ends_with(entry)) continue;
    if (host.size() == entry.size() || host[host.size() - entry.size() - 1] == '.') return true;
  }
  return false;
}

std::string base64(const std::string& text) {
  std::vector<unsigned char> out(4 * (text.size() / 3 + 1) + 1);
  const int length =
      EVP_EncodeBlock(out.data(), reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  return {out.begin(), out.begin() + length};
}

}  // namespace

std::string proxy_for(const http_url& url, std::optional<http_proxy>& into) {
  into.reset();
  // Upper-case HTTP_PROXY is not read: a web server sets it from a header that its client chose.
  const variable named = url.tls ? first_of({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
                                 : first_of({"http_proxy", "all_proxy", "ALL_PROXY"});
  if (named.value.empty() || is_excepted(url.host, first_of({"no_proxy", "NO_PROXY"}).value)) return {};
  std::string text(named.value);
  const std::size_t scheme = text.find("://");
  if (scheme == std::string::npos) text.insert(0, "http://");
  const std::size_t begin = text.find("://") + 3;
  http_proxy proxy;
  if (const std::size_t at = text.rfind('@'); at != std::string::npos) {
    const auto user = boost::urls::make_pct_string_view(std::string_view(text).substr(begin, at - begin));
    if (!user) return "the environment's " + std::string(named.name) + " has a user with a wrong percent code";
    proxy.authorization = "Basic " + base64(user->decode());
    text.erase(begin, at + 1 - begin);
  }
  const std::string problem = parse_http_url(text, proxy.where);
  if (!problem.empty() || proxy.where.tls) {
    return "the environment's " + std::string(named.name) + " names no proxy of the form http://HOST:PORT";
  }
  into = std::move(proxy);
  return {};
}

}  // namespace digd::net
