// An engine thread's way into the archive: never waits. What the archive's queue cannot take now is kept in a backlog
// and tried again on a timer, in order.
//
// Thread: its engine thread. Bounds: the backlog is bounded by what sessions may be ahead of what is durable
// (`credits`); beyond `most_backlog_bytes` the thread is congested, and its sessions are read no further until it is
// not. Failure: entries left at `stop` were never acknowledged; they are counted.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "archive/archive.h"
#include "net/websocket_session.h"

namespace digd::daemon {

class archiver {
 public:
  static constexpr std::size_t most_backlog_bytes = 64u << 20;

  // `to`: null if nothing is archived. `relieved` is called when a congestion is over.
  archiver(boost::asio::io_context& on, std::unique_ptr<archive::producer> to, std::function<void()> relieved);

  bool is_on() const { return to_ != nullptr; }
  void push(archive::entry_ptr entry);
  // These any thread may ask.
  bool is_congested() const { return congested_.load(std::memory_order_relaxed); }
  std::size_t backlog() const { return backlog_size_.load(std::memory_order_relaxed); }
  std::uint64_t kept_back() const {
    return kept_back_.load(std::memory_order_relaxed);
  }  // entries that had to wait, ever

  // Calls `done` once the backlog is empty.
  void when_empty(std::function<void()> done);
  void stop();

 private:
  void retry_soon();
  void retry();

  std::unique_ptr<archive::producer> to_;
  std::function<void()> relieved_, empty_;
  std::deque<archive::entry_ptr> backlog_;
  std::size_t backlog_bytes_ = 0;
  std::atomic<std::size_t> backlog_size_{0};
  std::atomic<std::uint64_t> kept_back_{0};
  std::atomic<bool> congested_{false};
  bool waiting_ = false;
  net::steady_timer timer_;
};

}  // namespace digd::daemon
