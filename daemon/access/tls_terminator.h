// TLS in front of the TCP door: a thread that makes handshakes and hands plain sockets on. The rest of the daemon knows
// nothing of TLS. Its certificate is read anew on reload; connections go on with the one they began with.
//
// Threads: `admit`, `change`, `start`, `stop` any; the rest its own. Bounds: those of the connections, of which each
// holds its ticket until TLS is at its end; a handshake has 10 s.
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

#include "daemon/http/connection.h"
#include "net/tls_pipe.h"

namespace digd::daemon {

class tls_terminator {
 public:
  // A socket that is through, on any executor's behalf: a file descriptor, the callee's.
  using through = std::function<void(int plain, connection_ticket ticket)>;

  // Throws std::runtime_error, in words for people, if the files cannot be used.
  // Counts in `refused` the handshakes that failed.
  tls_terminator(const net::tls_files& files, std::atomic<std::uint64_t>& refused);
  ~tls_terminator() { stop(); }

  void start();
  void stop();
  // The same failure as the constructor's; then what held goes on.
  void change(const net::tls_files& files);
  boost::asio::io_context& context() { return context_; }
  // The daemon stops: peers that are in a handshake go, later ones too. The rest ends with what is inside.
  void give_up_handshakes();
  // On its thread.
  void admit(net::tls_pipe::socket socket, connection_ticket ticket, through on_through);

 private:
  std::shared_ptr<boost::asio::ssl::context> now() const;

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  mutable std::mutex guard_;
  std::shared_ptr<boost::asio::ssl::context> tls_context_;
  std::atomic<std::uint64_t>& refused_;
  boost::unordered_flat_map<net::tls_pipe*, std::weak_ptr<net::tls_pipe>> in_handshake_;  // its thread's
  bool stopping_ = false;                                                                 // likewise
  std::thread thread_;
};

}  // namespace digd::daemon
