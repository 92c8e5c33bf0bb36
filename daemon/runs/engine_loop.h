// The event loop of an engine thread, and what its runs and sockets use there. It does not know the runs themselves.
//
// Thread: its own, except for construction, `context`, `start`, `join_thread`, and members marked "any thread".
// Lifetime: outlives all sockets, runs and posted work.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "base/log_rate_limit.h"
#include "daemon/http/connection.h"
#include "daemon/metrics/thread_counts.h"
#include "daemon/runs/archiver.h"
#include "daemon/runs/due_index.h"
#include "daemon/runs/forward_clock.h"
#include "daemon/runs/run_services.h"
#include "ingest/protocol/inbox.h"

namespace digd::daemon {

class engine_loop {
 public:
  // `on_relieved`: as of archiver.h.
  engine_loop(std::size_t index, const run_services& services, std::function<void()> on_relieved);

  boost::asio::io_context& context() { return context_; }
  const run_services& services() const { return services_; }
  std::size_t index() const { return index_; }
  void start();
  void join_thread();
  // Ends the thread as soon as possible and leaves its work undone. Does nothing if the thread does not run.
  void abandon();

  archiver& records() { return records_; }
  const archiver& records() const { return records_; }  // any thread, for the calls that archiver.h allows to any
  thread_counts& counts() { return counts_; }
  const thread_counts& counts() const { return counts_; }  // any thread
  connection_set& connections() { return connections_; }
  ingest::decoder& hello_decoder() { return scratch_->decoder; }
  const std::shared_ptr<ingest::scratch>& scratch() { return scratch_; }  // of all inboxes of this thread

  // Whether to log an error of a client or a run now; `suppressed` as in base/log_rate_limit.h.
  bool may_log(std::uint64_t& suppressed) { return log_limit_.allows(suppressed); }
  // As `may_log`, for detections. Their own limit: refused messages must not suppress them.
  bool may_log_detection(std::uint64_t& suppressed) { return detection_log_limit_.allows(suppressed); }

  // For runs with the wall clock.
  forward_clock& clock() { return clock_; }
  // Sets when the run next needs `advance_time`, on that clock; nullopt: never.
  void watch(due_run& run, std::optional<milliseconds> at) { due_.watch(run, at); }

  // Lets the thread end once its entries are in the archive's queue.
  void finish();
  // Lets the thread end without waiting for the archive.
  void give_up_backlog();

 protected:
  ~engine_loop() = default;

 private:
  const std::size_t index_;
  const run_services& services_;
  // Destroyed after the loop: a handler that the loop still has may own a connection, which uses both at its end.
  thread_counts counts_;
  connection_set connections_;
  boost::asio::io_context context_{1};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
  archiver records_;
  forward_clock clock_;
  due_index due_;
  const std::shared_ptr<ingest::scratch> scratch_ = std::make_shared<ingest::scratch>();
  log_rate_limit log_limit_{10}, detection_log_limit_{10};
  std::thread thread_;
};

}  // namespace digd::daemon
