#include "daemon/access/tls_door.h"

#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

#include "daemon/log.h"
#include "engine/quote.h"
#include "engine/thread_name.h"

namespace digd::daemon {

tls_door::tls_door(const ingest::tls_files& files, std::atomic<std::uint64_t>& refused)
    : work_(context_.get_executor()), how_(ingest::server_context(files)), refused_(refused) {}

void tls_door::start() {
  thread_ = std::thread([this] {
    name_this_thread("tls");
    context_.run();
  });
}

void tls_door::stop() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

void tls_door::give_up_handshakes() {
  boost::asio::post(context_, [this] {
    stopping_ = true;
    std::vector<std::shared_ptr<ingest::tls_pipe>> all;  // what ends takes itself out
    for (const auto& [key, one] : in_handshake_) all.push_back(one.lock());
    for (const auto& one : all) {
      if (one) one->give_up();
    }
  });
}

void tls_door::change(const ingest::tls_files& files) {
  auto next = ingest::server_context(files);
  const std::lock_guard hold(guard_);
  how_ = std::move(next);
}

std::shared_ptr<boost::asio::ssl::context> tls_door::now() const {
  const std::lock_guard hold(guard_);
  return how_;
}

void tls_door::admit(ingest::tls_pipe::socket socket, connection_ticket ticket, through on_through) {
  if (stopping_) return;  // closed by going out of scope
  const auto pipe = std::make_shared<ingest::tls_pipe>(std::move(socket), now(), ticket);
  in_handshake_[pipe.get()] = pipe;
  pipe->accept([this, key = pipe.get(), ticket, on_through = std::move(on_through)](boost::system::error_code ec, int plain) {
    in_handshake_.erase(key);
    if (!ec) return on_through(plain, ticket);
    // Scanners are many: what they did wrong is for those who look closely.
    refused_.fetch_add(1);
    spdlog::debug("tls_refused why={}", quoted(ec.message()));
  });
}

}  // namespace digd::daemon
