#include "net/tls_pipe.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>
#include <stdexcept>
#include <utility>

#include "base/quote.h"

namespace digd::net {

namespace {

using boost::system::error_code;
namespace ssl = asio::ssl;

void must(const error_code& ec, const std::string& text) {
  if (ec) throw std::runtime_error(text + ": " + ec.message());
}

std::shared_ptr<ssl::context> modern(ssl::context::method method) {
  auto made = std::make_shared<ssl::context>(method);
  error_code ec;
  made->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                        ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | SSL_OP_NO_RENEGOTIATION |
                        SSL_OP_IGNORE_UNEXPECTED_EOF,
                    ec);
  must(ec, "tls");
  return made;
}

void show_certificate(ssl::context& of, const std::string& certificate, const std::string& key) {
  error_code ec;
  of.use_certificate_chain_file(certificate, ec);
  must(ec, "cannot use the certificate " + quoted(certificate));
  of.use_private_key_file(key, ssl::context::pem, ec);
  must(ec, "cannot use the private key " + quoted(key));
}

}  // namespace

std::shared_ptr<ssl::context> server_context(const tls_files& files) {
  // For TLS 1.2: forward secrecy and authenticated encryption only. All of TLS 1.3 has both.
  constexpr const char* modern_ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
  auto made = modern(ssl::context::tls_server);
  if (SSL_CTX_set_cipher_list(made->native_handle(), modern_ciphers) != 1) {
    throw std::runtime_error("tls: OpenSSL has none of the ciphers " + std::string(modern_ciphers));
  }
  show_certificate(*made, files.certificate, files.key);
  if (files.client_ca.empty()) return made;
  error_code ec;
  made->load_verify_file(files.client_ca, ec);
  must(ec, "cannot use the authority " + quoted(files.client_ca));
  made->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, ec);
  // Without a session id context, OpenSSL refuses clients that resume a session with a client certificate.
  constexpr unsigned char name[] = "digd";
  SSL_CTX_set_session_id_context(made->native_handle(), name, sizeof name - 1);
  must(ec, "tls");
  return made;
}

std::shared_ptr<ssl::context> client_context(const std::string& ca, const std::string& certificate,
                                             const std::string& key) {
  auto made = modern(ssl::context::tls_client);
  error_code ec;
  if (ca.empty()) {
    made->set_default_verify_paths(ec);
  } else {
    made->load_verify_file(ca, ec);
  }
  must(ec, ca.empty() ? std::string("cannot read the system's authorities") : "cannot use the authority " + quoted(ca));
  made->set_verify_mode(ssl::verify_peer, ec);
  must(ec, "tls");
  if (!certificate.empty()) show_certificate(*made, certificate, key);
  return made;
}

tls_pipe::tls_pipe(socket to, std::shared_ptr<ssl::context> context, std::shared_ptr<void> with)
    : context_(std::move(context)),
      with_(std::move(with)),
      outside_(std::move(to), *context_),
      inside_(outside_.get_executor()),
      deadline_(outside_.get_executor()) {}

void tls_pipe::accept(opened on_open) { shake(ssl::stream_base::server, std::move(on_open)); }

void tls_pipe::connect(const std::string& host, opened on_open) {
  error_code ec;
  outside_.set_verify_callback(ssl::host_name_verification(host), ec);
  // SNI may contain only names, no addresses.
  error_code no_address;
  static_cast<void>(asio::ip::make_address(host, no_address));
  if (no_address) SSL_set_tlsext_host_name(outside_.native_handle(), host.c_str());
  shake(ssl::stream_base::client, std::move(on_open));
}

void tls_pipe::shake(ssl::stream_base::handshake_type as, opened on_open) {
  close_after(max_handshake_time);
  outside_.async_handshake(as, [self = shared_from_this(), on_open = std::move(on_open)](error_code ec) {
    if (!ec) return self->start(on_open);
    self->close();
    on_open(ec == asio::error::operation_aborted ? error_code(asio::error::timed_out) : ec, -1);
  });
}

void tls_pipe::start(const opened& on_open) {
  deadline_.cancel();
  int ends[2] = {-1, -1};
  error_code ec;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    ec.assign(errno, boost::system::system_category());
  }
  if (!ec) inside_.assign(asio::local::stream_protocol(), ends[0], ec);
  if (ec) {
    for (const int end : ends) {
      if (end >= 0) ::close(end);
    }
    close();
    return on_open(ec, -1);
  }
  read_inside();
  read_outside();
  on_open({}, ends[1]);
}

// ---- from inside out

void tls_pipe::read_inside() {
  inside_.async_read_some(asio::buffer(outwards_.bytes), [self = shared_from_this()](error_code ec, std::size_t n) {
    if (ec) return self->end_outwards();
    asio::async_write(self->outside_, asio::buffer(self->outwards_.bytes, n), [self](error_code failed, std::size_t) {
      if (failed) return self->close();
      self->read_inside();
    });
  });
}

// The user of the plain end has closed it. Closes TLS towards the peer, which gets `max_close_time` to send the rest.
void tls_pipe::end_outwards() {
  outwards_.at_end = true;
  with_.reset();  // the connection no longer counts: only TLS with the peer remains
  close_after(max_close_time);
  outside_.async_shutdown([self = shared_from_this()](error_code) {
    error_code ignored;
    self->outside_.next_layer().shutdown(asio::socket_base::shutdown_send, ignored);
    self->drain();
  });
}

// ---- from outside in

void tls_pipe::read_outside() {
  outside_.async_read_some(asio::buffer(inwards_.bytes), [self = shared_from_this()](error_code ec, std::size_t n) {
    if (self->outwards_.at_end) return;  // it is being drained
    if (ec) return self->end_inwards();
    if (self->inwards_.at_end) return self->read_outside();  // the plain end no longer reads: drop the bytes
    asio::async_write(self->inside_, asio::buffer(self->inwards_.bytes, n), [self](error_code failed, std::size_t) {
      if (failed) self->inwards_.at_end = true;
      self->read_outside();
    });
  });
}

// The peer has closed TLS. Closes towards the user of the plain end, who gets `max_close_time` to write the rest.
void tls_pipe::end_inwards() {
  inwards_.at_end = true;
  if (outwards_.at_end) return close();
  error_code ignored;
  inside_.shutdown(asio::socket_base::shutdown_send, ignored);
  close_after(max_close_time);
}

// Drops input after our end: closing with unread bytes would reset the connection and lose what was just sent.
void tls_pipe::drain() {
  outside_.next_layer().async_read_some(asio::buffer(outwards_.bytes),
                                        [self = shared_from_this()](error_code ec, std::size_t) {
                                          if (ec) return self->close();
                                          self->drain();
                                        });
}

void tls_pipe::close_after(std::chrono::seconds within) {
  deadline_.expires_after(within);
  deadline_.async_wait([me = weak_from_this()](error_code ec) {
    const auto self = me.lock();
    if (!ec && self) self->close();
  });
}

void tls_pipe::close() {
  deadline_.cancel();
  error_code ignored;
  inside_.close(ignored);
  outside_.next_layer().close(ignored);
}

}  // namespace digd::net
