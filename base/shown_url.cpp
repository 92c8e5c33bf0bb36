#include "base/shown_url.h"

#include <algorithm>

#include "base/text.h"

namespace digd {

namespace {

constexpr std::string_view left_out = "…";

// Cuts the user and the password, up to the last "@": a password that is not percent-encoded may contain "@".
std::string without_user(std::string_view text) {
  const std::size_t at = text.rfind('@');
  return at == text.npos ? std::string(text) : std::string(left_out).append(text.substr(at));
}

}  // namespace

std::string shown_url(std::string_view url) {
  constexpr std::string_view after_scheme = "://";
  if (url.starts_with('/') || url.starts_with('.')) return std::string(url);
  const std::size_t mark = url.find(after_scheme);
  const std::string scheme(url.substr(0, mark == url.npos ? 0 : mark + after_scheme.size()));
  url.remove_prefix(scheme.size());
  if (lower(scheme) == "http://" || lower(scheme) == "https://") {
    const std::string_view authority = url.substr(0, url.find_first_of("/?#"));
    const bool is_unclear = authority.find('@') == url.npos && url.find('@') != url.npos;
    return scheme + (is_unclear ? std::string() : without_user(authority) + '/') + std::string(left_out);
  }
  const std::string rest = without_user(url);
  const std::size_t query = std::min(rest.find_first_of("?#"), rest.size());
  return scheme + rest.substr(0, query) + (query < rest.size() ? rest[query] + std::string(left_out) : std::string());
}

}  // namespace digd
