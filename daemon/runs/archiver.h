// Passes an engine thread's entries to the archive, and never waits. Entries of a batch share a few parcels; other
// entries go one by one. If the archive's queue is full, it keeps them in a backlog and tries again on a timer, in
// order.
//
// Thread: its engine thread. Bounds: the backlog is bounded by how far sessions may be ahead of what is durable
// (`credits`). Beyond `max_backlog_bytes` the thread is congested: digd does not read its sessions until the backlog is
// written. Failure: entries that are left at `stop` were never acknowledged; the server logs their number.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "archive/archive.h"
#include "net/types.h"

namespace digd::daemon {

class archiver {
 public:
  static constexpr std::size_t max_backlog_bytes = 64u << 20;

  // `to`: null if nothing is archived. `on_relieved` is called when the thread is no longer congested.
  archiver(boost::asio::io_context& on, std::unique_ptr<archive::producer> to, std::function<void()> on_relieved);

  bool is_on() const { return to_ != nullptr; }

  // ---- the engine thread; only if `is_on`, except for batches
  void push(const archive::plain_entry& entry);
  void push(archive::entry_ptr entry);
  // Entries from `begin_batch` to `end_batch` share parcels. `end_batch` has no effect without a batch.
  void begin_batch() { in_batch_ = true; }
  void end_batch();

  // ---- any thread
  bool is_congested() const { return congested_.load(std::memory_order_relaxed); }
  std::size_t backlog() const { return backlog_size_.load(std::memory_order_relaxed); }
  std::uint64_t delayed() const { return delayed_.load(std::memory_order_relaxed); }  // entries that had to wait, ever

  // ---- the engine thread
  // Calls `done` once the backlog is empty.
  void when_empty(std::function<void()> done);
  void stop();

 private:
  archive::parcel& open_parcel();
  void hand_over();
  void retry_soon();
  void retry();

  std::unique_ptr<archive::producer> to_;
  std::function<void()> on_relieved_, on_empty_;
  archive::parcel_ptr open_;  // to be filled; null outside a batch
  bool in_batch_ = false;
  std::deque<archive::parcel_ptr> backlog_;
  std::size_t backlog_bytes_ = 0;
  std::atomic<std::size_t> backlog_size_{0};  // entries
  std::atomic<std::uint64_t> delayed_{0};
  std::atomic<bool> congested_{false};
  bool retrying_ = false;
  net::steady_timer timer_;
};

}  // namespace digd::daemon
