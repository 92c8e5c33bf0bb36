#include "daemon/settings/address.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/ip/tcp.hpp>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "base/quote.h"

namespace digd::daemon {

namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr std::size_t max_path_bytes = 107;  // of sockaddr_un

bool parse_port(std::string_view text, std::uint16_t& port) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), port);
  return ec == std::errc{} && end == text.data() + text.size() && !text.empty();
}

}  // namespace

bool parse_address(std::string_view text, listen_address& out, std::string& problem) {
  if (text.starts_with(unix_prefix)) {
    text.remove_prefix(unix_prefix.size());
    if (!text.starts_with('/') || text.size() > max_path_bytes) {
      problem = "a Unix socket needs an absolute path of at most 107 bytes: unix:/run/digd/digd.sock";
      return false;
    }
    out = unix_address{std::string(text)};
    return true;
  }
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  std::string host(text.substr(0, colon == text.npos ? 0 : colon));
  if (colon == text.npos || !parse_port(text.substr(colon + 1), port)) {
    problem = digd::quoted(text) + " is not an address; expected 127.0.0.1:7344, [::1]:7344 or unix:/path";
    return false;
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  boost::system::error_code ec;
  const auto ip = boost::asio::ip::make_address(host, ec);
  if (ec) {
    problem = digd::quoted(host) + " is not an IP address; digd does not look up names";
    return false;
  }
  out = tcp_address{ip, port};
  return true;
}

std::string to_string(const listen_address& where) {
  if (const auto* file = std::get_if<unix_address>(&where)) return std::string(unix_prefix) + file->path;
  const auto& tcp = std::get<tcp_address>(where);
  const std::string ip = tcp.ip.to_string();
  return (tcp.ip.is_v6() ? '[' + ip + ']' : ip) + ':' + std::to_string(tcp.port);
}

listen_address name_of(int socket) {
  const auto fail = [](const char* problem) {
    throw std::runtime_error(std::string("the socket that systemd passed ") + problem);
  };
  int value = 0;
  socklen_t size = sizeof value;
  if (::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) != 0) fail("is none");
  if (value == 0) fail("does not listen: digd.socket must have ListenStream= and Accept=no");
  sockaddr_storage name{};
  size = sizeof name;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) fail("has no name");
  if (name.ss_family == AF_UNIX) {
    const auto* file = reinterpret_cast<const sockaddr_un*>(&name);
    return unix_address{std::string(file->sun_path, ::strnlen(file->sun_path, sizeof file->sun_path))};
  }
  if (name.ss_family != AF_INET && name.ss_family != AF_INET6) fail("is neither TCP nor a Unix socket");
  boost::asio::ip::tcp::endpoint at;
  std::memcpy(at.data(), &name, std::min<std::size_t>(size, at.capacity()));
  return tcp_address{at.address(), at.port()};
}

bool is_local(const listen_address& where) {
  const auto* tcp = std::get_if<tcp_address>(&where);
  return tcp == nullptr || tcp->ip.is_loopback();
}

}  // namespace digd::daemon
