// A listening socket of the daemon, TCP or Unix, with TLS if configured. Accepts connections within its limits, and
// spreads them over the engine threads.
//
// Threads: `start`, `stop` and the changes on main's; accepting on the first engine thread. Lifetime: destroyed after
// the engine threads have ended.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/log_rate_limit.h"
#include "base/ticket.h"
#include "daemon/access/authorizer.h"
#include "daemon/access/peers.h"
#include "daemon/access/tls_terminator.h"
#include "daemon/api/health.h"
#include "daemon/runs/engine_threads.h"
#include "daemon/settings/address.h"
#include "daemon/settings/config.h"
#include "net/types.h"

namespace digd::daemon {

class listener {
 public:
  // Gets an accepted connection, on the engine thread that it will live on.
  using on_connection =
      std::function<void(engine_thread& home, net::stream_socket socket, peer_ptr from, connection_ticket ticket)>;

  // Connections open at once, of all and of one peer (`max_connections_of`); asked for each connection.
  struct limits {
    std::uint64_t max, max_per_peer;
  };
  using get_limits = std::function<limits()>;

  // `settings`: as at the start, for what a reload does not change. `budget`: null: the connections are not charged.
  listener(const config& settings, const engine_threads& threads, authorizer& authorizer, connection_counts& counts,
           memory_budget* budget, get_limits get_limits, on_connection on_connection);

  // ---- start: one of these, then `start`. They throw `cannot_use` if the address is at fault, otherwise
  // std::runtime_error.
  void listen(const listen_address& where);
  // Uses a listening socket that the service manager opened.
  void adopt(int socket);
  void start();

  // ---- reload: users, tokens and certificates are read again. Both return a problem in words, or nothing; with a
  // problem nothing has changed.
  std::string check_access(const config& c) const;
  std::string change_access(const config& c);

  // ---- stop
  // Accepts no more, and removes the file of a Unix socket.
  void stop();
  void give_up_handshakes();
  // Ends TLS, after the connections have ended.
  void stop_tls();

  const listen_address& bound() const { return bound_; }

 private:
  using executor = boost::asio::io_context::executor_type;
  template <class Protocol>
  using acceptor = boost::asio::basic_socket_acceptor<Protocol, executor>;

  void prepare_access();
  void listen_tcp(const tcp_address& where);
  void listen_unix(const unix_address& where);
  template <class Protocol>
  void accept(acceptor<Protocol>& from);
  template <class Protocol>
  void admit(engine_thread& home, boost::asio::basic_stream_socket<Protocol, executor> socket);
  void admit_tls(engine_thread& home, boost::asio::basic_stream_socket<boost::asio::ip::tcp, executor> socket,
                 peer_ptr from, connection_ticket ticket);
  // Null: there are too many connections, of this peer or of all.
  connection_ticket take_ticket(const peer_ptr& from, bool is_tls);

  const config& settings_;
  const engine_threads& threads_;
  authorizer& authorizer_;
  connection_counts& counts_;
  memory_budget* const budget_;
  const get_limits get_limits_;
  const on_connection on_connection_;
  listen_address bound_;
  std::unique_ptr<acceptor<boost::asio::ip::tcp>> tcp_;
  std::unique_ptr<acceptor<boost::asio::local::stream_protocol>> unix_;
  net::steady_timer retry_;  // after a failed accept
  std::size_t next_home_ = 0;
  peers peers_;
  log_rate_limit refusals_logged_{1};
  std::unique_ptr<tls_terminator> tls_;
  bool adopted_ = false, started_ = false;
  bool is_stopped_ = false;  // of the first engine thread
};

}  // namespace digd::daemon
