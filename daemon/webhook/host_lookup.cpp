#include "daemon/webhook/host_lookup.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <system_error>
#include <thread>
#include <utility>

namespace digd::daemon {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

}  // namespace

void host_lookup::ask(const endpoint& where, std::weak_ptr<const void> who, done then) {
  std::erase_if(waiting_, [](const asker& asker) { return asker.who.expired(); });
  waiting_.push_back({where.host, where.port, std::move(who), std::move(then)});
  if (!under_way_) look_up(where.host, where.port);
}

void host_lookup::look_up(const std::string& host, std::uint16_t port) {
  under_way_ = true;
  error_code no_address;
  if (const auto address = asio::ip::make_address(host, no_address); !no_address) {
    const auto tcps = results::create(tcp::endpoint(address, port), host, std::to_string(port));
    return asio::post(*context_, [self = shared_from_this(), host, port, tcps] { self->found(host, port, {}, tcps); });
  }
  const auto work = [self = shared_from_this(), host, port] {
    asio::io_context none;
    error_code ec;
    const results results = tcp::resolver(none).resolve(host, std::to_string(port), tcp::resolver::numeric_service, ec);
    const std::lock_guard hold(self->mutex_);
    if (self->context_ == nullptr) return;
    asio::post(*self->context_, [self, host, port, ec, results] { self->found(host, port, ec, results); });
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error& e) {  // no more threads
    asio::post(*context_, [self = shared_from_this(), host, port, code = e.code().value()] {
      self->found(host, port, error_code(code, boost::system::system_category()), {});
    });
  }
}

void host_lookup::found(const std::string& host, std::uint16_t port, const error_code& ec, const results& results) {
  under_way_ = false;
  std::vector<asker> asked = std::exchange(waiting_, {});
  for (asker& asker : asked) {
    const auto there = asker.who.lock();
    if (!there) continue;
    if (asker.host == host && asker.port == port) {
      asker.then(ec, results);
    } else {
      waiting_.push_back(std::move(asker));  // a reload changed the host meanwhile
    }
  }
  if (!waiting_.empty() && !under_way_) look_up(waiting_.front().host, waiting_.front().port);
}

void host_lookup::close() {
  const std::lock_guard hold(mutex_);
  context_ = nullptr;
  waiting_.clear();
}

}  // namespace digd::daemon
