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

void host_lookup::request(const net::http_url& host, std::weak_ptr<const void> requester, callback on_found) {
  std::erase_if(pending_, [](const pending_request& request) { return request.requester.expired(); });
  pending_.push_back({host.host, host.port, std::move(requester), std::move(on_found)});
  if (!in_progress_) look_up(host.host, host.port);
}

void host_lookup::look_up(const std::string& host, std::uint16_t port) {
  in_progress_ = true;
  error_code no_address;
  if (const auto address = asio::ip::make_address(host, no_address); !no_address) {
    const auto single = results::create(tcp::endpoint(address, port), host, std::to_string(port));
    return asio::post(*context_,
                      [self = shared_from_this(), host, port, single] { self->found(host, port, {}, single); });
  }
  const auto work = [self = shared_from_this(), host, port] {
    asio::io_context unused;  // a resolver needs one, also for a blocking look-up
    error_code ec;
    const results results =
        tcp::resolver(unused).resolve(host, std::to_string(port), tcp::resolver::numeric_service, ec);
    const std::lock_guard lock(self->mutex_);
    if (self->context_ == nullptr) return;
    asio::post(*self->context_, [self, host, port, ec, results] { self->found(host, port, ec, results); });
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error& e) {  // the system has no more threads
    asio::post(*context_, [self = shared_from_this(), host, port, code = e.code().value()] {
      self->found(host, port, error_code(code, boost::system::system_category()), {});
    });
  }
}

void host_lookup::found(const std::string& host, std::uint16_t port, const error_code& ec, const results& results) {
  in_progress_ = false;
  std::vector<pending_request> requests = std::exchange(pending_, {});
  for (pending_request& request : requests) {
    const auto requester = request.requester.lock();
    if (!requester) continue;
    if (request.host == host && request.port == port) {
      request.on_found(ec, results);
    } else {
      pending_.push_back(std::move(request));  // a reload has changed the host
    }
  }
  if (!pending_.empty() && !in_progress_) look_up(pending_.front().host, pending_.front().port);
}

void host_lookup::close() {
  const std::lock_guard lock(mutex_);
  context_ = nullptr;
  pending_.clear();
}

}  // namespace digd::daemon
