// One of the daemon's engine threads: an event loop that owns runs for ever, and sockets while they are open.
//
// Thread: everything but construction, `context`, `start` and `join_thread` is called on it. Lifetime: outlives all
// sockets, runs and posted work; shared_state holds it.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "archive/archive.h"
#include "daemon/metrics/thread_counts.h"
#include "daemon/runs/archiver.h"
#include "daemon/http/connection.h"
#include "daemon/runs/due_index.h"
#include "daemon/process/log.h"
#include "daemon/runs/registry.h"
#include "ingest/protocol/inbox.h"

namespace digd::daemon {

struct shared_state;

class engine_thread {
 public:
  engine_thread(std::size_t index, shared_state& shared);

  boost::asio::io_context& context() { return context_; }
  shared_state& shared() { return shared_; }
  std::size_t index() const { return index_; }
  void start();
  void join_thread();

  registry& runs() { return runs_; }
  archiver& records() { return records_; }
  const archiver& records_seen() const { return records_; }  // any thread, for what archiver.h says any may ask
  thread_counts& counts() { return counts_; }
  const thread_counts& counts() const { return counts_; }                 // any thread
  ingest::decoder& decoder() { return scratch_->reads; }                  // for hellos
  const std::shared_ptr<ingest::scratch>& scratch() { return scratch_; }  // of all inboxes here
  bool may_complain(std::uint64_t& kept_back) { return complaints_.may_speak(kept_back); }

  // When the run next needs `time_passes`; nothing: not at all.
  void watch(run_host& host, std::optional<milliseconds> at) { due_.watch(host, at); }

  // What the archive's writer thread reports, in one post a commit.
  void durable(std::span<const archive::durable> progress);

  // ---- connections that live here, and their end
  void remember(const std::shared_ptr<connection>& connection);
  void forget(connection* connection) { connections_.erase(connection); }
  bool is_stopping() const { return stopping_; }
  void shut_connections();
  void abort_connections();
  // Ends the thread once its entries are in the archive's queue.
  void finish();
  void give_up_backlog();

 private:
  template <class Do>
  void each_connection(Do do_it);

  const std::size_t index_;
  shared_state& shared_;
  boost::asio::io_context context_{1};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
  archiver records_;
  due_index due_;
  const std::shared_ptr<ingest::scratch> scratch_ = std::make_shared<ingest::scratch>();
  rate_limit complaints_{10};
  thread_counts counts_;
  registry runs_;
  boost::unordered_flat_map<connection*, std::weak_ptr<connection>> connections_;
  bool stopping_ = false;
  std::thread thread_;
};

milliseconds unix_ms();

}  // namespace digd::daemon
