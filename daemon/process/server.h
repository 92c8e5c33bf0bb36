// The daemon at work: owns its parts, starts them and stops them. main calls its steps in this order:
//
//   open_archive → make_threads → recover → listen or adopt → start (and recovery continues)
//   stop_listening → close_connections → stop_threads → close_archive → ~server
//
// Thread: main's. Failure: the steps throw `cannot_use` if the address or the folder is at fault, otherwise
// std::runtime_error; the message is for people. Destruction works even after a failed step, in this order: the readers
// of the archive, its writer thread, the handlers that are still queued, the event loops.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "daemon/access/audit_log.h"
#include "daemon/access/authorizer.h"
#include "daemon/api/http_services.h"
#include "daemon/api/router.h"
#include "daemon/fleet/home_keeper.h"
#include "daemon/fleet/publisher.h"
#include "daemon/fleet/view/fleet_view.h"
#include "daemon/process/listener.h"
#include "daemon/runs/ack_router.h"
#include "daemon/runs/engine_threads.h"
#include "daemon/runs/overload.h"
#include "daemon/runs/retention.h"
#include "daemon/settings/live_settings.h"

namespace digd::daemon {

class server {
 public:
  explicit server(config c);
  ~server();

  // ---- start
  void open_archive(const std::string& data_dir);
  // Instead of `open_archive`, for a daemon that only shows a fleet: it judges and archives nothing.
  void open_view(const std::string& data_dir);
  void make_threads();
  void recover();
  void listen(const listen_address& where);
  // In place of `listen`: uses a listening socket that the service manager opened.
  void adopt(int socket);
  void start();

  // ---- stop
  void stop_listening();
  // Closes all connections and waits until they have ended. False: some did not end in time, and it aborted them.
  bool close_connections(std::chrono::milliseconds max_wait);
  // Ends the engine threads, once their entries are in the archive's queue or `max_wait` is over.
  void stop_threads(std::chrono::milliseconds max_wait);
  // In a fleet with homes: publishes all remaining entries and gives up the homes, so that other daemons can take the
  // runs at once.
  void release_homes(std::chrono::milliseconds max_wait);
  void close_archive();

  // ---- reload
  // For runs and connections that begin from now on.
  void change_settings(const config& c);
  // These three return a problem in words, or nothing; with a problem nothing has changed.
  std::string change_webhooks(const config& c);
  std::string change_access(const config& c);
  std::string check_access(const config& c) const { return listener_->check_access(c); }

  const listen_address& bound() const { return listener_->bound(); }  // for clients
  std::vector<boost::asio::io_context*> loops() const;                // of the engine threads
  std::string status() const;                                         // one line for people

 private:
  using listener_ptr = std::unique_ptr<listener>;
  listener_ptr make_listener(connection_counts& counts, memory_budget* budget, listener::get_limits get_limits);
  void make_listeners();
  void trust_bound_addresses();
  void start_archive_readers();
  void start_view();
  void make_http_services();
  void stop_users_of_archive();
  void on_durable(std::span<const archive::durable> progress);
  void open_homes(const std::string& data_dir);
  void start_homes();
  void on_published(std::span<const archive::streamed_entry> entries);
  // Logs once when entries wait and nothing becomes durable, and once when that ends. Only one thread calls it.
  void log_stalled_archive();
  bool wait_for_connections(std::chrono::milliseconds max_wait) const;

  const config settings_;  // as at the start
  live_settings live_;
  const std::int64_t started_s_;  // Unix seconds
  std::atomic<phase> phase_{phase::starting};
  std::atomic<mode> operator_mode_{mode::enforce};
  connection_counts connections_, operator_connections_;
  run_counts runs_;
  overload_state overload_state_;
  memory_budget memory_budget_;

  // ---- the archive; without one, its readers are null too
  std::unique_ptr<archive::archive> archive_;
  std::uint64_t runs_lost_to_damage_ = 0;
  struct {
    std::uint64_t commits = 0;
    std::chrono::steady_clock::time_point since;  // of the last commit, or of the last time that nothing waited
    bool is_logged = false;
  } stall_;
  ack_router acks_;
  pending_writes deletions_, judgements_;

  // ---- HTTP: outlives the connections, which the engine threads' loops hold
  authorizer authorizer_;
  trusted_names trusted_;
  std::unique_ptr<archive_access> archive_access_;
  std::unique_ptr<audit_log> audit_;
  std::unique_ptr<http_services> http_services_;
  std::vector<std::unique_ptr<router>> routers_;  // one an engine thread

  std::unique_ptr<fleet_view> view_;    // null: the daemon is not a viewer
  std::unique_ptr<home_keeper> homes_;  // null: runs have no homes
  const run_services run_services_;
  engine_threads threads_;
  // Destroyed before the threads: work that waits in the pools may own connections, which belong to the threads' loops.
  boost::asio::thread_pool rebuilder_, finder_;

  std::unique_ptr<read_pool> reads_;
  std::unique_ptr<feed_server> feed_;
  std::unique_ptr<webhook_server> webhooks_;
  std::unique_ptr<publisher> publisher_;
  std::unique_ptr<attribution_worker> attribution_;
  std::unique_ptr<search_indexer> search_;
  run_eraser eraser_;
  std::unique_ptr<retention> retention_;
  std::unique_ptr<otlp_server> spans_;
  std::unique_ptr<hook_server> hooks_;
  std::unique_ptr<overload> overload_;
  std::unique_ptr<listener> listener_, operator_listener_;  // the second: null if none is configured
};

}  // namespace digd::daemon
