#include "net/server_address.h"

#include <algorithm>
#include <cstddef>

#include "base/quote.h"
#include "base/text.h"

namespace digd::net {

namespace {

constexpr std::size_t max_socket_path_bytes = 107;  // of sockaddr_un

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || text.find_first_not_of("0123456789") != std::string_view::npos) return false;
  const int port = std::stoi(std::string(text));
  return port > 0 && port <= 65535;
}

// HOST:PORT, where an IPv6 address is in brackets.
bool parse_authority(std::string_view text, server_address& into) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !is_port(text.substr(colon + 1))) return false;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find_first_of(bracketed ? "/?#@[]" : "/?#@[]:") != std::string_view::npos) return false;
  if (std::any_of(host.begin(), host.end(), [](char c) { return c <= ' ' || c > '~'; })) return false;
  into.host = host;
  into.port = text.substr(colon + 1);
  return true;
}

}  // namespace

std::string server_address::shown() const {
  if (local) return "unix:" + path;
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

std::optional<server_address> parse_address(std::string_view text, std::string& problem) {
  server_address to;
  problem = harmless(text) +
            " is not an address of a daemon; expected HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH";
  if (text.starts_with("unix:")) {
    to.local = true;
    to.host = "localhost";
    to.path = text.substr(5);
    const bool is_path =
        to.path.starts_with('/') && !to.path.starts_with("//") && to.path.find('\0') == std::string::npos;
    return is_path && to.path.size() <= max_socket_path_bytes ? std::optional(to) : std::nullopt;
  }
  to.tls = text.starts_with("wss://");
  if (to.tls || text.starts_with("ws://")) text.remove_prefix(to.tls ? 6 : 5);
  return parse_authority(text, to) ? std::optional(to) : std::nullopt;
}

std::string harmless(std::string_view text) { return digd::quoted(utf8_prefix(text, 200)); }

}  // namespace digd::net
