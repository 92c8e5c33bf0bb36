#include "daemon/webhook/host_lookup.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <system_error>
#include <thread>
#include <utility>

namespace digd::daemon {

namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

}  // namespace

void host_lookup::ask(const endpoint& where, std::weak_ptr<const void> who, done then) {
  std::erase_if(waiting_, [](const asker& one) { return one.who.expired(); });
  waiting_.push_back({where.host, where.port, std::move(who), std::move(then)});
  if (!under_way_) look_up(where.host, where.port);
}

void host_lookup::look_up(const std::string& host, std::uint16_t port) {
  under_way_ = true;
  error_code no_address;
  if (const auto address = net::ip::make_address(host, no_address); !no_address) {
    const auto all = results::create(tcp::endpoint(address, port), host, std::to_string(port));
    return net::post(*context_, [self = shared_from_this(), host, port, all] { self->found(host, port, {}, all); });
  }
  const auto work = [self = shared_from_this(), host, port] {
    net::io_context none;
    error_code ec;
    const results all = tcp::resolver(none).resolve(host, std::to_string(port), tcp::resolver::numeric_service, ec);
    const std::lock_guard hold(self->mutex_);
    if (self->context_ == nullptr) return;
    net::post(*self->context_, [self, host, port, ec, all] { self->found(host, port, ec, all); });
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error& e) {  // no more threads
    net::post(*context_, [self = shared_from_this(), host, port, code = e.code().value()] {
      self->found(host, port, error_code(code, boost::system::system_category()), {});
    });
  }
}

void host_lookup::found(const std::string& host, std::uint16_t port, const error_code& ec, const results& all) {
  under_way_ = false;
  std::vector<asker> asked = std::exchange(waiting_, {});
  for (asker& one : asked) {
    const auto there = one.who.lock();
    if (!there) continue;
    if (one.host == host && one.port == port) {
      one.then(ec, all);
    } else {
      waiting_.push_back(std::move(one));  // a reload changed the host meanwhile
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
