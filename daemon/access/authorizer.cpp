#include "daemon/access/authorizer.h"

#include <boost/beast/core/string.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "daemon/access/peer.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;

std::optional<std::string_view> bearer_of(std::string_view header) {
  constexpr std::string_view scheme = "bearer ";
  if (header.size() <= scheme.size() || !boost::beast::iequals(header.substr(0, scheme.size()), scheme))
    return std::nullopt;
  return trimmed(header.substr(scheme.size()));
}

std::optional<std::string_view> bearer_among(std::string_view subprotocols) {
  constexpr std::string_view prefix = "bearer.";
  while (!subprotocols.empty()) {
    const std::size_t comma = subprotocols.find(',');
    const std::string_view subprotocol = trimmed(subprotocols.substr(0, comma));
    if (subprotocol.starts_with(prefix)) return subprotocol.substr(prefix.size());
    subprotocols.remove_prefix(comma == subprotocols.npos ? subprotocols.size() : comma + 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> token_of(const net::upgrade_request& request) {
  if (const auto given = bearer_of(request[http::field::authorization])) return given;
  if (!boost::beast::websocket::is_upgrade(request)) return std::nullopt;
  return bearer_among(request[http::field::sec_websocket_protocol]);
}

std::shared_ptr<const token_table> authorizer::current() const {
  const std::lock_guard lock(guard_);
  return table_;
}

byte_limits authorizer::byte_limits_of_tokens() const {
  const auto table = current();
  return table ? table->byte_limits_of_tokens() : byte_limits();
}

void authorizer::set_tokens(token_table tokens) {
  const std::lock_guard lock(guard_);
  if (table_) tokens.succeed(*table_);
  table_ = std::make_shared<const token_table>(std::move(tokens));
}

void authorizer::set_users(std::vector<uid_t> users) {
  const std::lock_guard lock(guard_);
  users_ = std::move(users);
}

bool authorizer::may_connect(int unix_socket) const {
  const std::lock_guard lock(guard_);
  return is_peer_allowed(unix_socket, users_);
}

authorizer::decision authorizer::check(const net::upgrade_request& request, right needed, std::string_view run) const {
  const auto table = current();
  if (!table || needed == right::none) return {};
  const auto token = token_of(request);
  if (!token) return {.grant = nullptr, .refused = "a token is needed: Authorization: Bearer TOKEN"};
  decision out{.grant = table->find(*token), .refused = std::nullopt};
  if (!out.grant) {
    out.refused = "there is no such token";
  } else if (!out.grant->may(needed)) {
    out.refused = "the token " + digd::quoted(out.grant->name()) + " has no right to " + std::string(to_string(needed));
  } else if (!run.empty() && !out.grant->covers(run)) {
    out.refused = "the token " + digd::quoted(out.grant->name()) + " does not cover this run";
  }
  return out;
}

}  // namespace digd::daemon
