#include "daemon/access/tls_terminator.h"

#include <spdlog/spdlog.h>
#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/thread_name.h"

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
    std::vector<std::shared_ptr<net::tls_pipe>> pipes;  // a copy: a pipe that ends removes itself from the map
    for (const auto& [key, pipe] : in_handshake_) pipes.push_back(pipe.lock());
    for (const auto& pipe : pipes) {
      if (pipe) pipe->give_up();
    }
  });
}

void tls_terminator::change(const net::tls_files& files) {
  auto next = net::server_context(files);
  const std::lock_guard lock(guard_);
  tls_context_ = std::move(next);
}

std::shared_ptr<boost::asio::ssl::context> tls_terminator::current() const {
  const std::lock_guard lock(guard_);
  return tls_context_;
}

void tls_terminator::admit(net::tls_pipe::socket socket, connection_ticket ticket, on_plain_socket on_plain) {
  if (stopping_) return;  // closed by going out of scope
  const auto pipe = std::make_shared<net::tls_pipe>(std::move(socket), current(), ticket);
  in_handshake_[pipe.get()] = pipe;
  if (const auto& memory = ticket->memory()) {
    memory->on_close([this, me = std::weak_ptr(pipe)] {
      boost::asio::post(context_, [me] {
        if (const auto shaking = me.lock()) shaking->give_up();
      });
    });
  }
  pipe->accept([this, key = pipe.get(), ticket = std::move(ticket), on_plain = std::move(on_plain)](
                   boost::system::error_code ec, int plain) {
    in_handshake_.erase(key);
    if (!ec) return on_plain(plain, ticket);
    // Port scanners cause many of these, so they are logged at the debug level only.
    refused_.fetch_add(1);
    spdlog::debug("tls_refused reason={}", digd::quoted(ec.message()));
  });
}

}  // namespace digd::daemon
