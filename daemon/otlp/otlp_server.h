// Serves POST /v1/traces: takes spans and makes runs of them. docs/otlp.md lists the promises to a sender.
//
// Its own thread unpacks and decodes the spans, writes them to otlp.db, collects them and makes messages of them.
// Engine threads only receive these messages, as from any client. With an archive, it answers a request once the spans
// are synced.
//
// Threads: any thread may call `submit`, `count_refused` and `counted`; one thread calls `start` and then `stop`;
// everything else runs on its own. Lifetime: stopped before the engine threads end. Bounds: `max_waiting` requests, and
// the bounds of the table (gathering.h). Failure: an error answer to the sender; if otlp.db cannot be written, that is
// logged and tried again.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "daemon/http/responses.h"
#include "daemon/metrics/otlp_counts.h"
#include "daemon/otlp/gathering.h"
#include "daemon/otlp/span_replayer.h"
#include "daemon/otlp/spool.h"
#include "daemon/otlp/traces_api.h"
#include "daemon/settings/live_settings.h"
#include "ingest/otlp/decode.h"
#include "ingest/otlp/mapping.h"
#include "net/types.h"

namespace digd::daemon {

class engine_threads;

class otlp_server {
 public:
  static constexpr std::size_t max_waiting = 64;
  static constexpr std::size_t max_request_links = 10'000;  // further ones are dropped

  // `spool_path`: the path of otlp.db; empty without an archive.
  otlp_server(const engine_threads& threads, const live_settings& live, const otlp_settings& settings,
              std::string spool_path);
  ~otlp_server() { stop(); }

  // Reads back the runs that a restart interrupted. Returns a problem in words, and then nothing runs; otherwise an
  // empty string.
  std::string start();
  void stop();

  // Returns false if too many requests wait. Otherwise it calls `answer` once, on any thread, unless it is stopped
  // first.
  bool submit(traces_request&& request, std::function<void(http_response&&)> answer);
  // A request was refused before it reached `submit`. `is_busy`: because of a limit. Any thread.
  void count_refused(bool is_busy);
  const otlp_counts& counted() const { return counts_; }

 private:
  struct run_sender {
    std::shared_ptr<span_replayer> replayer;
    std::uint64_t end_seq = 0;  // the seq of `run_ended`; 0: not sent yet
  };

  http_response handle(traces_request&& request);
  http_response refuse(const traces_request& request, const otlp::decode_failure& failure);
  http_response accept(traces_request&& request, otlp::batch&& spans);
  std::size_t drop_foreign(const traces_request& request, otlp::batch& spans) const;

  std::string recover();
  void resume(const std::string& run, std::vector<std::string>&& lines);
  void serve_due_run();
  void serve(gathered_run& run, std::int64_t now);
  bool send(gathered_run& run, otlp::span_set known);
  void end(gathered_run& run);
  bool write(gathered_run& run, std::vector<std::string>&& lines);
  void on_durable(const std::string& run, std::uint64_t seq);
  void on_gone(const std::string& run, const std::string& problem);
  void forget(gathered_run& run, bool remember);
  void wait_for_next();
  void publish();

  const engine_threads& threads_;
  const live_settings& live_;  // for `payloads`
  const otlp_settings settings_;
  const std::string spool_path_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  net::steady_timer timer_;
  otlp_spool spool_;
  gathering table_;
  std::unordered_map<std::string, run_sender> senders_;  // by run
  otlp_counts counts_;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<bool> stopped_{true};
  std::thread thread_;
};

}  // namespace digd::daemon
