// A TLS connection as a plain socket. It makes the handshake, and moves bytes between the connection and one end of a
// socket pair. The user of the other end knows nothing of TLS, and may move it to another thread.
//
//   peer ══ TLS ══ tls_pipe ── socket pair ── a server's session, or a client
//
// Thread: that of its socket. Lifetime: its operations hold it, until both directions have ended. Bounds: 32 KiB each
// way; `max_handshake_time`, `max_close_time`; while one side does not read, the pipe does not read the other. Failure:
// it calls `on_open` with the error once if the handshake fails; later failures close both ends.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "net/types.h"

namespace digd::net {

class tls_pipe final : public std::enable_shared_from_this<tls_pipe> {
 public:
  static constexpr std::chrono::seconds max_handshake_time{10}, max_close_time{5};
  using socket = asio::basic_stream_socket<asio::ip::tcp, executor>;
  // `plain`: the file descriptor of the plain end, which the callback then owns; -1 if `ec` is set.
  using opened = std::function<void(boost::system::error_code ec, int plain)>;

  // Holds `with` until the user of the plain end has closed it; closing TLS with the peer may take longer.
  tls_pipe(socket to, std::shared_ptr<asio::ssl::context> context, std::shared_ptr<void> with);

  void accept(opened on_open);
  // Closes both ends at once. Call it on the pipe's thread.
  void give_up() { close(); }
  // As a client of `host`, which the certificate must name.
  void connect(const std::string& host, opened on_open);

 private:
  using plain_socket = asio::basic_stream_socket<asio::local::stream_protocol, executor>;
  struct way {
    std::array<char, 32 * 1024> bytes;
    bool at_end = false;
  };

  void shake(asio::ssl::stream_base::handshake_type as, opened on_open);
  void start(const opened& on_open);
  void read_inside();
  void read_outside();
  void end_outwards();
  void end_inwards();
  void drain();
  void close();
  void close_after(std::chrono::seconds within);

  const std::shared_ptr<asio::ssl::context> context_;
  std::shared_ptr<void> with_;
  asio::ssl::stream<socket> outside_;
  plain_socket inside_;
  steady_timer deadline_;
  way outwards_, inwards_;
};

// Contexts for TLS 1.2 and later; a server takes only ciphers with forward secrecy and authenticated encryption.
// Failure: a std::runtime_error with a sentence for people.
struct tls_files {
  std::string certificate, key;  // PEM: the chain, the private key
  std::string client_ca;         // PEM: the authority of clients; empty: clients send no certificate
};
std::shared_ptr<asio::ssl::context> server_context(const tls_files& files);
// `ca`: PEM; empty: the system's.
std::shared_ptr<asio::ssl::context> client_context(const std::string& ca, const std::string& certificate = {},
                                                   const std::string& key = {});

}  // namespace digd::net
