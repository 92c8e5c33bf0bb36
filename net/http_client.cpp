#include "net/http_client.h"

#include <boost/asio/ssl/context.hpp>
#include <stdexcept>
#include <utility>

#include "net/client_socket.h"
#include "net/http_exchange.h"
#include "net/tls_pipe.h"

namespace digd::net {

namespace {

// A sentence that says what to do; empty if the answer is complete.
std::string failure_of(const http_outcome& outcome, const server_address& to) {
  if (outcome.too_large) {
    return "the answer of " + to.shown() + " is over " + std::to_string(http_client::max_body_bytes >> 20) + " MiB";
  }
  if (!outcome.ec) return {};
  const bool connected = outcome.step >= http_step::send;
  if (!connected && outcome.timed_out) return to.shown() + " does not answer";
  if (outcome.step == http_step::handshake) return no_tls(to, outcome.ec);
  if (!connected) return no_connection(to, outcome.ec);
  if (!outcome.timed_out) return to.shown() + " broke off its answer (" + outcome.ec.message() + "); try again";
  return to.shown() + (outcome.step == http_step::body ? " stopped in the middle of its answer"
                                                       : " accepted the connection but does not answer");
}

}  // namespace

http_client::http_client(server_address to, std::string token, std::chrono::milliseconds patience)
    : to_(std::move(to)), token_(std::move(token)), patience_(patience), connect_patience_(patience) {}

std::string http_client::reach() const {
  server_address plain = to_;
  plain.tls = false;
  // What is pending after the deadline holds the socket.
  struct connection {
    asio::io_context io;
    stream_socket socket{io};
  };
  const auto made = std::make_shared<connection>();
  return connect_to(made->io, made->socket, plain, client_clock::now() + connect_patience_, nullptr);
}

std::string http_client::ask(std::string_view method, std::string_view target, std::string_view body,
                             http_answer& into) const {
  return perform(method, target, body, {}, into);
}

std::string http_client::download(std::string_view target, const std::function<bool(std::string_view)>& each,
                                  http_answer& into) const {
  return perform("GET", target, {}, each, into);
}

std::string http_client::perform(std::string_view method, std::string_view target, std::string_view body,
                                 const std::function<bool(std::string_view)>& each, http_answer& into) const {
  into = {};
  boost::system::error_code ec;
  http_peer peer{.endpoints = look_up(to_, ec), .host = to_.host};
  if (ec) return no_address(to_, ec);
  try {
    if (to_.tls) peer.tls = client_context(to_.authority);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  http_request request{.method = std::string(method),
                       .target = std::string(target),
                       .host = host_of(to_),
                       .fields = {{"User-Agent", to_.program.user_agent}},
                       .body = std::string(body)};
  if (!token_.empty()) request.fields.emplace_back("Authorization", "Bearer " + token_);
  if (!body.empty()) request.fields.emplace_back("Content-Type", "application/json");
  http_outcome outcome =
      net::perform(std::move(peer), std::move(request),
                   {.connect = connect_patience_, .step = patience_, .max_body_bytes = max_body_bytes}, each);
  into.status = outcome.status;
  into.body = std::move(outcome.body);
  return failure_of(outcome, to_);
}

}  // namespace digd::net
