#include "daemon/access/tls_terminator.h"

#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/thread_name.h"
#include "daemon/process/log.h"

namespace digd::daemon {

tls_terminator::tls_terminator(const net::tls_files& files, std::atomic<std::uint64_t>& refused)
    : work_(context_.get_executor()), tls_context_(net::server_context(files)), refused_(refused) {}

void tls_terminator::start() {
  thread_ = std::thread([this] {
    name_this_thread("tls");
    context_.run();
  });
}

void tls_terminator::stop() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

void tls_terminator::give_up_handshakes() {
  boost::asio::post(context_, [this] {
    stopping_ = true;
    std::vector<std::shared_ptr<net::tls_pipe>> tls_pipes;  // what ends takes itself out
    for (const auto& [key, one] : in_handshake_) tls_pipes.push_back(one.lock());
    for (const auto& tls_pipe : tls_pipes) {
      if (tls_pipe) tls_pipe->give_up();
    }
  });
}

void tls_terminator::change(const net::tls_files& files) {
  auto next = net::server_context(files);
  const std::lock_guard hold(guard_);
  tls_context_ = std::move(next);
}

std::shared_ptr<boost::asio::ssl::context> tls_terminator::now() const {
  const std::lock_guard hold(guard_);
  return tls_context_;
}

void tls_terminator::admit(net::tls_pipe::socket socket, connection_ticket ticket, through on_through) {
  if (stopping_) return;  // closed by going out of scope
  const auto pipe = std::make_shared<net::tls_pipe>(std::move(socket), now(), ticket);
  in_handshake_[pipe.get()] = pipe;
  pipe->accept(
      [this, key = pipe.get(), ticket, on_through = std::move(on_through)](boost::system::error_code ec, int plain) {
        in_handshake_.erase(key);
        if (!ec) return on_through(plain, ticket);
        // Scanners are many: what they did wrong is for those who look closely.
        refused_.fetch_add(1);
        spdlog::debug("tls_refused why={}", quoted(ec.message()));
      });
}

}  // namespace digd::daemon
