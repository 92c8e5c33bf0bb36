#include "daemon/http/request_check.h"

#include <algorithm>

#include "base/hex.h"
#include "base/text.h"

namespace digd::daemon {

namespace {

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

std::optional<std::string> decode_percent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

bool names_token(std::string_view header, std::string_view token) {
  while (!header.empty()) {
    const std::size_t comma = std::min(header.find(','), header.size());
    if (trimmed(header.substr(0, comma)) == token) return true;
    header.remove_prefix(std::min(comma + 1, header.size()));
  }
  return false;
}

trusted_names::trusted_names(const listen_address& bound, const std::vector<std::string>& hosts,
                             const std::vector<std::string>& origins) {
  for (const std::string& text : hosts) hosts_.push_back(lower(text));
  for (const std::string& text : origins) origins_.push_back(lower(text));
  add(bound);
}

void trusted_names::add(const listen_address& bound) {
  const auto* tcp = std::get_if<tcp_address>(&bound);
  if (tcp == nullptr) return;
  const std::string ip = tcp->ip.to_string();
  for (std::string name : {std::string("localhost"), std::string("127.0.0.1"), std::string("[::1]"),
                           tcp->ip.is_v6() ? '[' + ip + ']' : ip}) {
    hosts_.push_back(name + ':' + std::to_string(tcp->port));
    if (tcp->port == 80) hosts_.push_back(std::move(name));
  }
}

bool trusted_names::is_trusted_host(std::string_view host, bool is_unix) const {
  return is_unix || has(hosts_, lower(host));
}

bool trusted_names::is_trusted_origin(std::string_view origin, std::string_view host, bool is_unix) const {
  const std::string given = lower(origin);
  if (has(origins_, given)) return true;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!given.starts_with(scheme)) continue;
    const std::string from = given.substr(scheme.size());
    return is_unix ? from == lower(host) : has(hosts_, from);
  }
  return false;
}

}  // namespace digd::daemon
