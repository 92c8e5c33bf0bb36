// One attempt to POST a callback: looks the host up, then makes one exchange (net/http_exchange.h). The answer's status
// decides; its body is dropped.
//
// Thread: that of its io_context. Lifetime: held by its webhook. Bounds: `timeout_ms` for the whole attempt; 64 KiB of
// body. Failure: `on_done` is called once, never after `cancel`. It gets digd's or the system's words, never the
// receiver's.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/webhook/host_lookup.h"
#include "daemon/webhook/target.h"
#include "net/http_exchange.h"
#include "net/types.h"

namespace digd::daemon {

struct post_result {
  unsigned status = 0;                        // 0: no answer
  std::string problem;                        // the failure; empty if delivered
  std::optional<std::int64_t> retry_after_s;  // the receiver's Retry-After
  bool is_delivered() const { return status >= 200 && status < 300; }
};

class post_attempt final : public std::enable_shared_from_this<post_attempt> {
 public:
  using callback = std::function<void(const post_result&)>;

  post_attempt(boost::asio::io_context& context, std::shared_ptr<host_lookup> lookup,
               std::shared_ptr<const target> receiver, std::string body, callback on_done);
  void start();
  void cancel();

 private:
  using clock = std::chrono::steady_clock;

  void send(const host_lookup::results& found);
  net::http_request make_request();
  post_result result_of(const net::http_outcome& outcome) const;
  std::string timeout_text() const;
  void finish(const post_result& result);

  boost::asio::io_context& context_;
  const std::shared_ptr<const target> receiver_;
  std::string body_;
  callback on_done_;  // empty once finished or cancelled
  clock::time_point until_;
  net::steady_timer lookup_deadline_;
  const std::shared_ptr<host_lookup> lookup_;
  std::shared_ptr<net::http_exchange> exchange_;
};

}  // namespace digd::daemon
