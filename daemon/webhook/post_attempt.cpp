#include "daemon/webhook/post_attempt.h"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <utility>

#include "daemon/http/request_target.h"
#include "daemon/webhook/signature.h"

namespace digd::daemon {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::uint32_t max_answer_header_bytes = 16 * 1024;
constexpr std::uint64_t max_answer_bytes = 64 * 1024;

std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

post_attempt::post_attempt(asio::io_context& context, std::shared_ptr<host_lookup> lookup,
                           std::shared_ptr<const target> receiver, std::string body, callback on_done)
    : receiver_(std::move(receiver)),
      on_done_(std::move(on_done)),
      deadline_(context.get_executor()),
      lookup_(std::move(lookup)),
      socket_(context.get_executor()) {
  request_.body() = std::move(body);
  parser_.header_limit(max_answer_header_bytes);
  parser_.body_limit(max_answer_bytes);
}

void post_attempt::start() {
  make_request();
  deadline_.expires_after(std::chrono::milliseconds(receiver_->settings.timeout_ms));
  deadline_.async_wait([me = weak_from_this()](error_code ec) {
    const auto self = me.lock();
    if (ec || !self) return;
    self->finish({.why = "no answer within " + std::to_string(self->receiver_->settings.timeout_ms) + " ms"});
  });
  resolve();
}

// Each attempt has its own timestamp. A receiver can therefore refuse an old request that somebody sends again.
void post_attempt::make_request() {
  const std::int64_t timestamp = now_s();
  request_.version(11);
  request_.method(http::verb::post);
  request_.target(receiver_->where.target);
  request_.set(http::field::host, receiver_->where.host_header);
  request_.set(http::field::user_agent, "digd/" DIGD_VERSION);
  request_.set(http::field::content_type, "application/json");
  request_.set(http::field::connection, "close");
  request_.set("Digd-Timestamp", std::to_string(timestamp));
  // PagerDuty's secret is the routing key in the body.
  if (!receiver_->secret.empty() && receiver_->settings.format != "pagerduty")
    request_.set("Digd-Signature", signature_of(receiver_->secret, timestamp, request_.body()));
  request_.prepare_payload();
}

void post_attempt::resolve() {
  const auto me = weak_from_this();
  lookup_->request(receiver_->where, me, [me](const error_code& ec, const host_lookup::results& found) {
    const auto self = me.lock();
    if (!self) return;
    if (ec) return self->fail("the host cannot be looked up", ec);
    self->connect(found);
  });
}

void post_attempt::connect(const host_lookup::results& found) {
  if (!on_done_) return;
  asio::async_connect(socket_, found, [self = shared_from_this()](error_code ec, const asio::ip::tcp::endpoint&) {
    if (ec) return self->fail("cannot connect", ec);
    if (self->receiver_->where.tls) return self->shake_hands();
    self->write();
  });
}

void post_attempt::shake_hands() {
  if (!on_done_) return;
  // OpenSSL only reads the context, but its interface is not const.
  tls_.emplace(socket_, const_cast<asio::ssl::context&>(*receiver_->tls));
  error_code ec;
  tls_->set_verify_callback(asio::ssl::host_name_verification(receiver_->where.host), ec);
  if (!ec && !receiver_->where.is_address)
    SSL_set_tlsext_host_name(tls_->native_handle(), receiver_->where.host.c_str());
  if (ec) return fail("TLS", ec);
  tls_->async_handshake(asio::ssl::stream_base::client, [self = shared_from_this()](error_code failed) {
    if (!failed) return self->write();
    const long verified = SSL_get_verify_result(self->tls_->native_handle());
    const std::string detail =
        verified == X509_V_OK ? "" : std::string(" (") + X509_verify_cert_error_string(verified) + ")";
    self->fail("TLS" + detail, failed);
  });
}

void post_attempt::write() { receiver_->where.tls ? write_to(*tls_) : write_to(socket_); }
void post_attempt::read() { receiver_->where.tls ? read_from(*tls_) : read_from(socket_); }

template <class Stream>
void post_attempt::write_to(Stream& stream) {
  if (!on_done_) return;
  http::async_write(stream, request_, [self = shared_from_this()](error_code ec, std::size_t) {
    if (ec) return self->fail("cannot send", ec);
    self->read();
  });
}

template <class Stream>
void post_attempt::read_from(Stream& stream) {
  if (!on_done_) return;
  http::async_read(stream, buffer_, parser_,
                   [self = shared_from_this()](error_code ec, std::size_t) { self->on_read(ec); });
}

// The status alone decides; an error while reading the body changes nothing.
void post_attempt::on_read(error_code ec) {
  if (!parser_.is_header_done()) return fail("no answer", ec);
  finish({});
}

void post_attempt::fail(const std::string& step, const error_code& ec) { finish({.why = step + ": " + ec.message()}); }

void post_attempt::cancel() {
  on_done_ = nullptr;
  close();
}

void post_attempt::finish(post_result result) {
  if (!on_done_) return;
  if (parser_.is_header_done()) {
    result.status = parser_.get().result_int();
    result.why = result.is_delivered() ? "" : "status " + std::to_string(result.status);
    const auto header = parser_.get()[http::field::retry_after];
    const auto seconds = whole_number({header.data(), header.size()});
    if (seconds && *seconds <= 365u * 24 * 3600) result.retry_after_s = static_cast<std::int64_t>(*seconds);
  }
  const callback on_done = std::exchange(on_done_, nullptr);
  close();
  on_done(result);
}

void post_attempt::close() {
  deadline_.cancel();
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  socket_.close(ignored);
}

}  // namespace digd::daemon
