#include "net/http_url.h"

#include <boost/url/parse.hpp>
#include <boost/url/src.hpp>  // compiled here; the library is not linked
#include <boost/url/url_view.hpp>

namespace digd::net {

namespace {

constexpr std::size_t max_url_bytes = 2'048;
constexpr std::uint16_t http_port = 80, https_port = 443;

template <class Text>
std::string string_of(const Text& text) {
  return {text.data(), text.size()};
}

// Boost.URL 1.81 takes the host "127.0.0.1.example" for an address, and ".example" for the path.
bool is_misread(const boost::urls::url_view& url) {
  const std::string path = string_of(url.encoded_path());
  return url.has_authority() && !path.empty() && path.front() != '/';
}

}  // namespace

bool http_url::is_loopback() const {
  return host == "localhost" || host == "::1" || (is_address && host.starts_with("127."));
}

std::string http_url::shown() const { return (tls ? "https://" : "http://") + host_header + "/…"; }

std::string parse_http_url(const std::string& url, http_url& into) {
  if (url.size() > max_url_bytes) return "must be at most " + std::to_string(max_url_bytes) + " bytes";
  auto parsed = boost::urls::parse_uri(url);
  std::string masked;  // `parsed` may refer to it
  const bool begins_with_address = parsed && is_misread(*parsed);
  if (begins_with_address) {
    masked = url;
    masked.insert(masked.find("://") + 3, 1, 'x');  // now the host is a name for Boost too
    parsed = boost::urls::parse_uri(masked);
  }
  if (!parsed) return "must be a URL: https://host[:port]/path, with anything unusual percent-encoded";
  const boost::urls::url_view& u = *parsed;
  if (u.scheme_id() != boost::urls::scheme::https && u.scheme_id() != boost::urls::scheme::http) {
    return "must begin with https:// or http://";
  }
  if (u.has_userinfo()) return "must not hold a user or a password";
  if (u.has_fragment()) return "must not have a fragment (#…)";
  into = {};
  into.tls = u.scheme_id() == boost::urls::scheme::https;
  into.is_address = u.host_type() == boost::urls::host_type::ipv4 || u.host_type() == boost::urls::host_type::ipv6;
  const std::string written = string_of(u.encoded_host()).substr(begins_with_address ? 1 : 0);
  if (written.empty() || written.find('%') != written.npos) return "must name a host";
  if (u.host_type() == boost::urls::host_type::ipvfuture) return "must name a host";
  const bool has_brackets = u.host_type() == boost::urls::host_type::ipv6;
  into.host = has_brackets ? written.substr(1, written.size() - 2) : written;
  const std::uint16_t usual = into.tls ? https_port : http_port;
  into.port = usual;
  if (u.has_port() && !u.port().empty()) {
    into.port = u.port_number();
    if (into.port == 0) return "must have a port from 1 to 65535";
  }
  into.host_header = written;
  if (into.port != usual) into.host_header += ':' + std::to_string(into.port);
  into.target = string_of(u.encoded_path());
  if (into.target.empty()) into.target = "/";
  if (u.has_query()) into.target += '?' + string_of(u.encoded_query());
  return {};
}

}  // namespace digd::net
