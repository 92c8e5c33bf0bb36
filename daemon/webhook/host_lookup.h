// Finds the addresses of a webhook's host. The system's look-up blocks, for many seconds if a name server is silent, so
// each runs on a thread of its own that nobody waits for: neither other webhooks nor a daemon that stops.
//
// Threads: everything but the look-up itself on the webhooks'. Lifetime: shared with a look-up under way, whose result
// is dropped after `close`. Bounds: one look-up at a time; whoever asks meanwhile is told of that one. Failure: told to
// whoever asked.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/settings/endpoint.h"

namespace digd::daemon {

class host_lookup final : public std::enable_shared_from_this<host_lookup> {
 public:
  using results = boost::asio::ip::tcp::resolver::results_type;
  using done = std::function<void(const boost::system::error_code&, const results&)>;

  explicit host_lookup(boost::asio::io_context& on) : context_(&on) {}

  // `then` is called later, never from within. It is dropped when `who` is gone by then.
  void ask(const endpoint& where, std::weak_ptr<const void> who, done then);
  void close();

 private:
  struct asker {
    std::string host;
    std::uint16_t port = 0;
    std::weak_ptr<const void> who;
    done then;
  };

  void look_up(const std::string& host, std::uint16_t port);
  void found(const std::string& host, std::uint16_t port, const boost::system::error_code& ec, const results& results);

  std::mutex mutex_;                  // of `context_`, which a look-up posts to
  boost::asio::io_context* context_;  // null: closed
  std::vector<asker> waiting_;
  bool under_way_ = false;
};

}  // namespace digd::daemon
