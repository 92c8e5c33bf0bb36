#include "net/http_exchange.h"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <ctime>

#include "net/types.h"

namespace digd::net {

namespace {

namespace http = boost::beast::http;
namespace ssl = asio::ssl;
using boost::system::error_code;
using clock = std::chrono::steady_clock;

constexpr std::uint32_t max_header_bytes = 16 * 1024;
constexpr std::size_t piece_bytes = 64 * 1024;
constexpr std::int64_t max_retry_after_s = 365 * 24 * 3600;
constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

class exchange final : public http_exchange, public std::enable_shared_from_this<exchange> {
 public:
  exchange(asio::io_context& io, http_peer to, http_request request, const http_bounds& bounds, finished on_done,
           receiver each)
      : to_(std::move(to)),
        bounds_(bounds),
        on_done_(std::move(on_done)),
        each_(std::move(each)),
        begun_(clock::now()),
        timer_(io.get_executor()),
        socket_(io.get_executor()) {
    request_.version(11);
    request_.method_string(request.method);
    request_.target(request.target);
    request_.set(http::field::host, request.host);
    for (const auto& [name, value] : request.fields) request_.set(name, value);
    request_.set(http::field::connection, "close");
    request_.body() = std::move(request.body);
    request_.prepare_payload();
    parser_.header_limit(max_header_bytes);
    parser_.body_limit(unlimited);  // `keep` bounds a body that is kept
  }

  void connect() {
    begin(http_step::connect);
    asio::async_connect(socket_, to_.endpoints,
                        [self = shared_from_this()](error_code ec, const stream_socket::endpoint_type&) {
                          if (self->is_over(ec)) return;
                          error_code ignored;  // a Unix socket has no such option
                          self->socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
                          if (!self->to_.tunnel.empty()) return self->open_tunnel();
                          self->to_.tls ? self->shake_hands() : self->send();
                        });
  }

  void cancel() override {
    on_done_ = nullptr;
    each_ = nullptr;
    close();
  }

 private:
  using tls_stream = ssl::stream<stream_socket&>;

  // Begins a step, and the time that it may take.
  void begin(http_step step) {
    outcome_.step = step;
    clock::time_point until = clock::time_point::max();
    const bool is_connected = step >= http_step::send;
    if (bounds_.total.count() > 0) until = begun_ + bounds_.total;
    if (!is_connected && bounds_.connect.count() > 0) until = std::min(until, begun_ + bounds_.connect);
    if (is_connected && bounds_.step.count() > 0) until = std::min(until, clock::now() + bounds_.step);
    if (until == clock::time_point::max()) {
      timer_.cancel();
      return;
    }
    timer_.expires_at(until);
    timer_.async_wait([me = weak_from_this()](error_code ec) {
      const auto self = me.lock();
      if (ec || !self || clock::now() < self->timer_.expiry()) return;
      self->outcome_.timed_out = true;
      self->finish(asio::error::timed_out);
    });
  }

  // Called after each operation. Returns whether the exchange has ended, through this error or earlier.
  bool is_over(const error_code& ec) {
    if (on_done_ && ec) finish(ec);
    return !on_done_;
  }

  void open_tunnel() {
    begin(http_step::tunnel);
    connect_request_.version(11);
    connect_request_.method(http::verb::connect);
    connect_request_.target(to_.tunnel);
    connect_request_.set(http::field::host, to_.tunnel);
    if (!to_.proxy_authorization.empty())
      connect_request_.set(http::field::proxy_authorization, to_.proxy_authorization);
    connect_parser_.header_limit(max_header_bytes);
    connect_parser_.skip(true);  // the answer to CONNECT has no body
    http::async_write(socket_, connect_request_, [self = shared_from_this()](error_code ec, std::size_t) {
      if (self->is_over(ec)) return;
      http::async_read_header(self->socket_, self->buffer_, self->connect_parser_, [self](error_code failed, auto) {
        if (self->is_over(failed)) return;
        const unsigned status = self->connect_parser_.get().result_int();
        if (status != 200) {
          self->outcome_.proxy_status = status;
          return self->finish(asio::error::connection_refused);
        }
        self->buffer_.clear();
        self->to_.tls ? self->shake_hands() : self->send();
      });
    });
  }

  void shake_hands() {
    begin(http_step::handshake);
    tls_.emplace(socket_, *to_.tls);
    error_code ec;
    tls_->set_verify_callback(ssl::host_name_verification(to_.host), ec);
    if (is_over(ec)) return;
    // SNI may contain only names, no addresses.
    error_code no_address;
    static_cast<void>(asio::ip::make_address(to_.host, no_address));
    if (no_address) SSL_set_tlsext_host_name(tls_->native_handle(), to_.host.c_str());
    tls_->async_handshake(ssl::stream_base::client, [self = shared_from_this()](error_code failed) {
      const long verified = SSL_get_verify_result(self->tls_->native_handle());
      if (failed && verified != X509_V_OK) self->outcome_.certificate_error = X509_verify_cert_error_string(verified);
      if (!self->is_over(failed)) self->send();
    });
  }

  template <class Use>
  void with_stream(Use use) {
    tls_ ? use(*tls_) : use(socket_);
  }

  void send() {
    begin(http_step::send);
    with_stream([this](auto& stream) {
      http::async_write(stream, request_, [self = shared_from_this()](error_code ec, std::size_t) {
        if (!self->is_over(ec)) self->read_header();
      });
    });
  }

  void read_header() {
    begin(http_step::header);
    with_stream([this](auto& stream) {
      http::async_read_header(stream, buffer_, parser_, [self = shared_from_this()](error_code ec, std::size_t) {
        if (self->is_over(ec)) return;
        const auto& answer = self->parser_.get();
        self->outcome_.status = answer.result_int();
        const auto after = answer[http::field::retry_after];
        self->outcome_.retry_after_s = retry_after_seconds({after.data(), after.size()}, std::time(nullptr));
        self->read_body();
      });
    });
  }

  void read_body() {
    if (parser_.is_done()) return finish({});
    begin(http_step::body);
    auto& body = parser_.get().body();
    body.data = piece_.data();
    body.size = piece_.size();
    with_stream([this](auto& stream) {
      http::async_read_some(stream, buffer_, parser_, [self = shared_from_this()](error_code ec, std::size_t) {
        if (ec == http::error::need_buffer) ec = {};
        if (self->is_over(ec)) return;
        const std::size_t got = self->piece_.size() - self->parser_.get().body().size;
        if (self->take({self->piece_.data(), got})) self->read_body();
      });
    });
  }

  // Returns whether to read on.
  bool take(std::string_view piece) {
    if (each_ && outcome_.good()) {
      if (piece.empty() || each_(piece)) return true;
      finish({});
      return false;
    }
    if (piece.size() > bounds_.max_body_bytes - outcome_.body.size()) {
      outcome_.too_large = true;
      finish(http::error::body_limit);
      return false;
    }
    outcome_.body += piece;
    return true;
  }

  void finish(const error_code& ec) {
    if (!on_done_) return;
    outcome_.ec = ec;
    const finished on_done = std::exchange(on_done_, nullptr);
    each_ = nullptr;
    close();
    on_done(std::move(outcome_));
  }

  void close() {
    timer_.cancel();
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_both, ignored);
    socket_.close(ignored);
  }

  const http_peer to_;
  const http_bounds bounds_;
  finished on_done_;  // empty once finished or cancelled
  receiver each_;
  const clock::time_point begun_;
  steady_timer timer_;
  stream_socket socket_;
  std::optional<tls_stream> tls_;
  http::request<http::empty_body> connect_request_;
  http::response_parser<http::empty_body> connect_parser_;
  http::request<http::string_body> request_;
  http::response_parser<http::buffer_body> parser_;
  boost::beast::flat_buffer buffer_;
  std::array<char, piece_bytes> piece_;
  http_outcome outcome_;
};

}  // namespace

std::shared_ptr<http_exchange> http_exchange::start(asio::io_context& io, http_peer to, http_request request,
                                                    const http_bounds& bounds, finished on_done, receiver each) {
  auto made =
      std::make_shared<exchange>(io, std::move(to), std::move(request), bounds, std::move(on_done), std::move(each));
  made->connect();
  return made;
}

http_outcome perform(http_peer to, http_request request, const http_bounds& bounds, http_exchange::receiver each) {
  asio::io_context io{1};
  http_outcome outcome;
  http_exchange::start(
      io, std::move(to), std::move(request), bounds, [&outcome](http_outcome done) { outcome = std::move(done); },
      std::move(each));
  io.run();
  return outcome;
}

std::optional<std::int64_t> retry_after_seconds(std::string_view header, std::int64_t now_s) {
  if (header.empty()) return {};
  std::int64_t seconds = 0;
  const auto [end, failed] = std::from_chars(header.data(), header.data() + header.size(), seconds);
  if (failed != std::errc{} || end != header.data() + header.size()) {
    std::tm date{};
    const std::string text(header);
    const char* rest = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
    if (rest == nullptr || *rest != '\0') return {};
    seconds = std::max<std::int64_t>(::timegm(&date) - now_s, 0);
  }
  if (seconds < 0 || seconds > max_retry_after_s) return {};
  return seconds;
}

}  // namespace digd::net
