// A TLS connection as a plain socket. The handshake is made here, and bytes are moved between it and one end of a
// socket pair; whoever holds the other end knows nothing of TLS, and may take it to a thread of its own.
//
//   peer ══ TLS ══ tls_pipe ── socket pair ── a server's session, or a client
//
// Thread: that of the socket it is made with. Lifetime: held by its own operations, until both ways are at their end.
// Bounds: 32 KiB each way; `handshake_within`, `goodbye_within` (also of what still comes after our goodbye); a side
// that does not take what it is sent stops the other from being read. Failure: before the handshake is done `on_open`
// hears of it, once; afterwards both ends close.
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

#include "net/websocket_session.h"

namespace digd::net {

class tls_pipe final : public std::enable_shared_from_this<tls_pipe> {
 public:
  static constexpr std::chrono::seconds handshake_within{10}, goodbye_within{5};
  using socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;
  // The plain end: a file descriptor that is the callee's; -1 with an error.
  using opened = std::function<void(boost::system::error_code ec, int plain)>;

  // `how` must live until the handshake is done; `with` is kept as long as the connection.
  tls_pipe(socket to, std::shared_ptr<asio::ssl::context> context, std::shared_ptr<void> with);

  void accept(opened on_open);
  // Closes it, whatever is under way: on its thread.
  void give_up() { close(); }
  // As a client of `host`, whose certificate has to name it.
  void connect(const std::string& host, opened on_open);

 private:
  using plain_socket = asio::basic_stream_socket<asio::local::stream_protocol, asio::io_context::executor_type>;
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

// Contexts; each fails with a std::runtime_error whose words are for people. TLS 1.2 and later.
struct tls_files {
  std::string certificate, key;  // PEM: the chain, the private key
  std::string client_ca;         // PEM: who signs clients; empty: clients show no certificate
};
std::shared_ptr<asio::ssl::context> server_context(const tls_files& files);
// `ca`: PEM; empty: the system's.
std::shared_ptr<asio::ssl::context> client_context(const std::string& ca, const std::string& certificate = {},
                                                   const std::string& key = {});

}  // namespace digd::net
