// Readiness and /metrics. Any thread: reads atomics, and the archive's own health.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "daemon/http/responses.h"
#include "daemon/metrics/metrics.h"
#include "model/settings.h"

namespace digd::daemon {

class audit_log;
class engine_threads;
class feed_server;
class hook_server;
class memory_budget;
class otlp_server;
class overload_state;
class fleet_view;
class home_keeper;
class publisher;
class read_pool;
class retention;
class webhook_server;
struct run_counts;

enum class phase : std::uint8_t { starting, serving, stopping };

// The state that readiness depends on.
struct readiness_sources {
  const std::atomic<daemon::phase>& phase;
  const std::unique_ptr<archive::archive>& archive;  // null: no archive
  const engine_threads& threads;
  const overload_state& overload;
  const run_counts& runs;
  const daemon::publisher* publisher;  // null without an archive
  const daemon::home_keeper* homes;    // null: runs have no homes
  const fleet_view* view = nullptr;    // null: the daemon is not a viewer
};

struct connection_counts {
  std::atomic<std::uint64_t> open{0};
  std::atomic<std::uint64_t> refused{0};           // too many were open
  std::atomic<std::uint64_t> refused_of_peer{0};   // too many of one peer were open
  std::atomic<std::uint64_t> refused_of_token{0};  // too many of one token were open
  std::atomic<std::uint64_t> tokens_refused{0};    // requests without a known token
  std::atomic<std::uint64_t> peers_refused{0};     // at a Unix socket: the user may not connect
  std::atomic<std::uint64_t> tls_refused{0};       // handshakes that failed
};

// The state that /metrics reports.
struct metrics_sources {
  readiness_sources readiness;
  std::int64_t started_s;             // Unix seconds
  std::uint64_t runs_lost_to_damage;  // at this start
  const connection_counts& connections;
  const connection_counts& operator_connections;
  const memory_budget& memory;
  const audit_log& audit;
  const run_counts& runs;
  const std::atomic<mode>& operator_mode;
  const feed_server* feed;  // these four: null without an archive
  const webhook_server* webhooks;
  const read_pool* reads;
  const daemon::retention* retention;
  const otlp_server* spans;
  const hook_server* hooks;
};

struct reason {
  // archive, archive_queue, congested, overload_archive, overload_memory, recovering, starting, stopping
  std::string code;
  std::string message;
};

// The reasons why the daemon should not get work now; empty if it is ready.
std::vector<reason> readiness_problems(const readiness_sources& from);
http_response readiness(const readiness_sources& from);
http_response metrics(const metrics_sources& from);

}  // namespace digd::daemon
