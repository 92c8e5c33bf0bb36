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

constexpr std::uint32_t most_header_bytes = 16 * 1024;
constexpr std::uint64_t most_answer_bytes = 64 * 1024;

std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

post_attempt::post_attempt(asio::io_context& on, std::shared_ptr<host_lookup> names, std::shared_ptr<const target> to,
                           std::string body, done then)
    : to_(std::move(to)),
      then_(std::move(then)),
      deadline_(on.get_executor()),
      names_(std::move(names)),
      socket_(on.get_executor()) {
  request_.body() = std::move(body);
  parser_.header_limit(most_header_bytes);
  parser_.body_limit(most_answer_bytes);
}

void post_attempt::start() {
  make_request();
  deadline_.expires_after(std::chrono::milliseconds(to_->settings.timeout_ms));
  deadline_.async_wait([me = weak_from_this()](error_code ec) {
    const auto self = me.lock();
    if (ec || !self) return;
    self->finish({.why = "no answer within " + std::to_string(self->to_->settings.timeout_ms) + " ms"});
  });
  resolve();
}

// The time is that of the attempt, so that a receiver can refuse what somebody recorded and sends again much later.
void post_attempt::make_request() {
  const std::int64_t timestamp = now_s();
  request_.version(11);
  request_.method(http::verb::post);
  request_.target(to_->where.target);
  request_.set(http::field::host, to_->where.host_header);
  request_.set(http::field::user_agent, "digd/" DIGD_VERSION);
  request_.set(http::field::content_type, "application/json");
  request_.set(http::field::connection, "close");
  request_.set("Digd-Timestamp", std::to_string(timestamp));
  if (!to_->secret.empty()) request_.set("Digd-Signature", signature_of(to_->secret, timestamp, request_.body()));
  request_.prepare_payload();
}

void post_attempt::resolve() {
  const auto me = weak_from_this();
  names_->ask(to_->where, me, [me](const error_code& ec, const host_lookup::results& found) {
    const auto self = me.lock();
    if (!self) return;
    if (ec) return self->fail("the host cannot be looked up", ec);
    self->connect(found);
  });
}

void post_attempt::connect(const host_lookup::results& found) {
  if (!then_) return;
  asio::async_connect(socket_, found, [self = shared_from_this()](error_code ec, const asio::ip::tcp::endpoint&) {
    if (ec) return self->fail("cannot connect", ec);
    if (self->to_->where.tls) return self->shake_hands();
    self->write();
  });
}

void post_attempt::shake_hands() {
  if (!then_) return;
  // OpenSSL's interface is not const about a context that it only reads.
  tls_.emplace(socket_, const_cast<asio::ssl::context&>(*to_->tls));
  error_code ec;
  tls_->set_verify_callback(asio::ssl::host_name_verification(to_->where.host), ec);
  if (!ec && !to_->where.is_address) SSL_set_tlsext_host_name(tls_->native_handle(), to_->where.host.c_str());
  if (ec) return fail("TLS", ec);
  tls_->async_handshake(asio::ssl::stream_base::client, [self = shared_from_this()](error_code shaken) {
    if (!shaken) return self->write();
    const long verified = SSL_get_verify_result(self->tls_->native_handle());
    const std::string about =
        verified == X509_V_OK ? "" : std::string(" (") + X509_verify_cert_error_string(verified) + ")";
    self->fail("TLS" + about, shaken);
  });
}

void post_attempt::write() { to_->where.tls ? write_to(*tls_) : write_to(socket_); }
void post_attempt::read() { to_->where.tls ? read_from(*tls_) : read_from(socket_); }

template <class Stream>
void post_attempt::write_to(Stream& stream) {
  if (!then_) return;
  http::async_write(stream, request_, [self = shared_from_this()](error_code ec, std::size_t) {
    if (ec) return self->fail("cannot send", ec);
    self->read();
  });
}

template <class Stream>
void post_attempt::read_from(Stream& stream) {
  if (!then_) return;
  http::async_read(stream, buffer_, parser_,
                   [self = shared_from_this()](error_code ec, std::size_t) { self->on_read(ec); });
}

// Once there is a status, it is the answer, whatever becomes of the rest.
void post_attempt::on_read(error_code ec) {
  if (!parser_.is_header_done()) return fail("no answer", ec);
  finish({});
}

void post_attempt::fail(const std::string& doing, const error_code& ec) {
  finish({.why = doing + ": " + ec.message()});
}

void post_attempt::cancel() {
  then_ = nullptr;
  close();
}

void post_attempt::finish(post_result result) {
  if (!then_) return;
  if (parser_.is_header_done()) {
    result.status = parser_.get().result_int();
    result.why = result.is_delivered() ? "" : "status " + std::to_string(result.status);
    const auto asked = parser_.get()[http::field::retry_after];
    const auto seconds = whole_number({asked.data(), asked.size()});
    if (seconds && *seconds <= 365u * 24 * 3600) result.retry_after_s = static_cast<std::int64_t>(*seconds);
  }
  const done then = std::exchange(then_, nullptr);
  close();
  then(result);
}

void post_attempt::close() {
  deadline_.cancel();
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  socket_.close(ignored);
}

}  // namespace digd::daemon
