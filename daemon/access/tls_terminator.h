// Terminates TLS. Its thread makes the handshakes and passes plain sockets to the rest of the daemon, which never sees
// TLS. A reload reads the certificate again; open connections keep the one they began with.
//
// Threads: `change`, `start`, `stop` and `give_up_handshakes` any; the rest its own. Bounds: those of the connections;
// each holds its ticket until its TLS session has ended. A handshake may take 10 s. Failure: it counts failed
// handshakes and closes their sockets.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "daemon/access/peers.h"
#include "net/tls_pipe.h"

namespace digd::daemon {

class tls_terminator {
 public:
  // Gets the plain socket of a finished handshake: a file descriptor that the callee owns.
  using on_plain_socket = std::function<void(int plain, connection_ticket ticket)>;

  // Counts failed handshakes in `refused`. Throws std::runtime_error, with a sentence for people, if it cannot use the
  // files.
  tls_terminator(const net::tls_files& files, std::atomic<std::uint64_t>& refused);
  ~tls_terminator() { stop(); }

  void start();
  void stop();
  // Fails like the constructor; then the old files stay in use.
  void change(const net::tls_files& files);
  boost::asio::io_context& context() { return context_; }
  // Called when the daemon stops: ends the handshakes in progress and refuses new ones. Each TLS session ends with its
  // plain socket.
  void give_up_handshakes();
  // Begins a handshake on `socket`. Call it on the terminator's thread.
  void admit(net::tls_pipe::socket socket, connection_ticket ticket, on_plain_socket on_plain);

 private:
  std::shared_ptr<boost::asio::ssl::context> current() const;

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  mutable std::mutex guard_;
  std::shared_ptr<boost::asio::ssl::context> tls_context_;
  std::atomic<std::uint64_t>& refused_;
  boost::unordered_flat_map<net::tls_pipe*, std::weak_ptr<net::tls_pipe>> in_handshake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace digd::daemon
