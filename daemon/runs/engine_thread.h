// One of the daemon's engine threads: an event loop that owns its runs forever, and sockets while they are open.
//
// Thread: its own, except for construction, `context`, `start`, `join_thread`, and members marked "any thread".
// Lifetime: outlives all sockets, runs and posted work; `engine_threads` owns it.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "archive/archive.h"
#include "base/log_rate_limit.h"
#include "daemon/http/connection.h"
#include "daemon/metrics/thread_counts.h"
#include "daemon/runs/archiver.h"
#include "daemon/runs/due_index.h"
#include "daemon/runs/registry.h"
#include "daemon/runs/run_services.h"
#include "ingest/protocol/inbox.h"

namespace digd::daemon {

class engine_thread {
 public:
  engine_thread(std::size_t index, const run_services& services);

  boost::asio::io_context& context() { return context_; }
  const run_services& services() const { return services_; }
  std::size_t index() const { return index_; }
  void start();
  void join_thread();
  // Ends the thread as soon as it can, with work left. Nothing if it does not run.
  void abandon();

  registry& runs() { return runs_; }
  archiver& records() { return records_; }
  const archiver& records() const { return records_; }  // any thread, for what archiver.h says any may call
  thread_counts& counts() { return counts_; }
  const thread_counts& counts() const { return counts_; }  // any thread
  connection_set& connections() { return connections_; }
  ingest::decoder& hello_decoder() { return scratch_->decoder; }
  const std::shared_ptr<ingest::scratch>& scratch() { return scratch_; }  // of all inboxes of this thread

  // Whether to log an error of a client or a run now; `suppressed` as in base/log_rate_limit.h.
  bool may_log(std::uint64_t& suppressed) { return log_limit_.allows(suppressed); }
  // The same for detections: refused messages do not use up their share.
  bool may_log_detection(std::uint64_t& suppressed) { return detection_log_limit_.allows(suppressed); }

  // For runs with the wall clock.
  forward_clock& clock() { return clock_; }
  // Sets when the run next needs `advance_time`, on that clock; nullopt: never.
  void watch(run_host& host, std::optional<milliseconds> at) { due_.watch(host, at); }

  // Takes what one commit of the archive made durable for this thread's runs.
  void durable(std::span<const archive::durable> progress);
  // Takes what the fleet's stream has stored of this thread's runs.
  void streamed(std::span<const archive::durable> progress);

  // Lets the thread end once its entries are in the archive's queue.
  void finish();
  // Lets the thread end without waiting for the archive.
  void give_up_backlog();

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
  registry runs_;
  std::thread thread_;
};

}  // namespace digd::daemon
