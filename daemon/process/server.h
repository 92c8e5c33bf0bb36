// The daemon at work: engine threads, and the one door. Started and stopped by main, in this order:
//
//   open the archive → recover → listen → run    …    stop listening → close connections → end threads → drain archive
//
// Thread: main's, but `accept`, on the first engine thread.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "daemon/access/tls_terminator.h"
#include "daemon/shared_state.h"

namespace digd::daemon {

// What the daemon was given cannot be used: an address or a folder that is in use, a socket of the wrong kind.
struct cannot_use : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class server {
 public:
  explicit server(config c) : shared_(std::move(c)) {}

  // Each fails with a std::runtime_error whose words are for people; `cannot_use` where what was given is at fault.
  void open_archive(const std::string& data_dir);
  void make_threads();
  void recover();
  void listen(const listen_address& where);
  // In place of `listen`: a listening socket that was opened for us.
  void adopt(int socket);
  void start();

  // Closes all connections, and waits for that at most as long; `true` if they went by themselves.
  bool close_connections(std::chrono::milliseconds at_most);
  void stop_listening();
  // Ends the engine threads once their entries are in the archive's queue, or at the latest after so long.
  void stop_threads(std::chrono::milliseconds at_most);
  void close_archive();

  // What runs and connections that begin from now on are given.
  void change_settings(const config& c);
  // The webhooks alone; if that cannot be, says why in words, and nothing has changed.
  std::string change_webhooks(const config& c);
  // Users, tokens and certificates, read anew; the same. `check_access` only says whether that would go well.
  std::string change_access(const config& c);
  std::string check_access(const config& c) const;

  const listen_address& bound() const { return bound_; }
  std::vector<boost::asio::io_context*> loops();  // of the engine threads
  std::string status() const;                     // one line for people

 private:
  using executor = boost::asio::io_context::executor_type;
  template <class Protocol>
  using acceptor = boost::asio::basic_socket_acceptor<Protocol, executor>;

  template <class Protocol>
  void accept(acceptor<Protocol>& door);
  template <class Protocol>
  void admit(engine_thread& home, boost::asio::basic_stream_socket<Protocol, executor> socket);
  void admit_tls(engine_thread& home, boost::asio::basic_stream_socket<boost::asio::ip::tcp, executor> socket,
                 connection_ticket ticket);
  void open_gate();
  void set_damage_aside(const std::string& path, const std::string& damage);
  void listen_tcp(const tcp_address& where);
  void listen_unix(const unix_address& where);
  template <class Until>
  bool wait(std::chrono::milliseconds at_most, Until until);

  shared_state shared_;
  listen_address bound_;
  std::unique_ptr<acceptor<boost::asio::ip::tcp>> tcp_;
  std::unique_ptr<acceptor<boost::asio::local::stream_protocol>> unix_;
  std::unique_ptr<net::steady_timer> pause_;  // when sockets ran out
  std::size_t next_home_ = 0;
  std::unique_ptr<tls_terminator> tls_;
  bool adopted_ = false;
};

}  // namespace digd::daemon
