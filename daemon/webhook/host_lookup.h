// Finds the addresses of a webhook's host. The system's look-up blocks, for many seconds if a name server is silent.
// Each look-up therefore has a thread of its own, and neither other webhooks nor a stopping daemon wait for it.
//
// Threads: a look-up on its own thread, everything else on the webhooks' thread. Lifetime: shared with the look-up in
// progress; its result is dropped after `close`. Bounds: one look-up at a time; requests for the same host and port
// share its result. Failure: the requests of a look-up get its error code.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/http_url.h"

namespace digd::daemon {

class host_lookup final : public std::enable_shared_from_this<host_lookup> {
 public:
  using results = boost::asio::ip::tcp::resolver::results_type;
  using callback = std::function<void(const boost::system::error_code&, const results&)>;

  explicit host_lookup(boost::asio::io_context& context) : context_(&context) {}

  // Calls `on_found` later, never from within this call, and not at all once `requester` has expired.
  void request(const net::http_url& host, std::weak_ptr<const void> requester, callback on_found);
  // Drops all requests. Nothing is called after it.
  void close();

 private:
  struct pending_request {
    std::string host;
    std::uint16_t port = 0;
    std::weak_ptr<const void> requester;
    callback on_found;
  };

  void look_up(const std::string& host, std::uint16_t port);
  void found(const std::string& host, std::uint16_t port, const boost::system::error_code& ec, const results& results);

  std::mutex mutex_;                  // guards `context_`, to which a look-up posts its result
  boost::asio::io_context* context_;  // null once closed
  std::vector<pending_request> pending_;
  bool in_progress_ = false;
};

}  // namespace digd::daemon
