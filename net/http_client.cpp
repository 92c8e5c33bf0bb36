#include "net/http_client.h"

#include <algorithm>
#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <limits>
#include <memory>
#include <utility>

#include "net/client_socket.h"

namespace digd::net {

namespace http = boost::beast::http;
using boost::system::error_code;

struct http_client::request {
  std::string_view method, target, body;
  const std::function<bool(std::string_view)>* each = nullptr;  // null: the body is kept
};

namespace {

constexpr std::size_t piece_bytes = 64 * 1024;

// A request in progress. Pending operations hold it, because they may outlive a caller that stopped waiting.
struct exchange : std::enable_shared_from_this<exchange> {
  asio::io_context io{1};
  stream_socket socket{io.get_executor()};
  http::request<http::string_body> request;
  http::response_parser<http::buffer_body> parser;
  boost::beast::flat_buffer buffer;
  std::array<char, piece_bytes> piece;
  bool ready = false;
  error_code ec;

  // Starts an operation and waits for it; false if it did not end in time.
  template <class Start>
  bool wait(std::chrono::milliseconds within, Start start) {
    ready = false;
    start([self = shared_from_this()](error_code result, std::size_t) {
      self->ec = result;
      self->ready = true;
    });
    if (run_until(io, ready, client_clock::now() + within)) return true;
    error_code ignored;
    socket.close(ignored);
    io.restart();
    io.poll();
    return false;
  }
};

std::string broken_off(const server_address& to, const error_code& ec) {
  return to.shown() + " broke off its answer (" + ec.message() + "); try again";
}

std::string too_slow(const server_address& to) { return to.shown() + " took the connection but does not answer"; }

}  // namespace

http_client::http_client(server_address to, std::string token, std::chrono::milliseconds patience)
    : to_(std::move(to)), token_(std::move(token)), patience_(patience), connect_patience_(patience) {}

std::string http_client::ask(std::string_view method, std::string_view target, std::string_view body,
                             http_answer& into) const {
  return perform({.method = method, .target = target, .body = body}, into);
}

std::string http_client::download(std::string_view target, const std::function<bool(std::string_view)>& each,
                                  http_answer& into) const {
  return perform({.method = "GET", .target = target, .each = &each}, into);
}

std::string http_client::perform(const request& request, http_answer& into) const {
  const auto going = std::make_shared<exchange>();
  into = {};
  if (std::string why = connect_to(going->io, going->socket, to_, client_clock::now() + connect_patience_, going);
      !why.empty()) {
    return why;
  }
  auto& asked = going->request;
  asked.method_string({request.method.data(), request.method.size()});
  asked.target({request.target.data(), request.target.size()});
  asked.version(11);
  asked.set(http::field::host, host_of(to_));
  asked.set(http::field::user_agent, to_.program.user_agent);
  asked.set(http::field::connection, "close");
  if (!token_.empty()) asked.set(http::field::authorization, "Bearer " + token_);
  if (!request.body.empty()) asked.set(http::field::content_type, "application/json");
  asked.body() = request.body;
  asked.prepare_payload();
  if (!going->wait(patience_, [&](auto done) { http::async_write(going->socket, asked, done); })) return too_slow(to_);
  if (going->ec) return broken_off(to_, going->ec);

  auto& parser = going->parser;
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());  // the code below bounds a body that is kept
  if (!going->wait(patience_,
                   [&](auto done) { http::async_read_header(going->socket, going->buffer, parser, done); })) {
    return too_slow(to_);
  }
  if (going->ec) return broken_off(to_, going->ec);
  into.status = parser.get().result_int();
  const bool hands_on = request.each != nullptr && into.good();
  while (!parser.is_done()) {
    auto& body = parser.get().body();
    body.data = going->piece.data();
    body.size = going->piece.size();
    if (!going->wait(patience_, [&](auto done) { http::async_read(going->socket, going->buffer, parser, done); })) {
      return to_.shown() + " stopped in the middle of its answer";
    }
    if (going->ec && going->ec != http::error::need_buffer) return broken_off(to_, going->ec);
    const std::string_view got(going->piece.data(), going->piece.size() - body.size);
    if (hands_on) {
      if (!got.empty() && !(*request.each)(got)) return {};
      continue;
    }
    if (into.body.size() + got.size() > max_body_bytes) {
      return "the answer of " + to_.shown() + " is over " + std::to_string(max_body_bytes >> 20) + " MiB";
    }
    into.body += got;
  }
  return {};
}

}  // namespace digd::net
