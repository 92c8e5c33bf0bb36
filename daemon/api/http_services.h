// The parts of the daemon that HTTP requests use, a small set for each group of routes. Everything outlives the
// connections.
//
// Thread: all engine threads share one object. Its pointers and references do not change while they serve requests;
// each part has its own rule for threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "daemon/access/audit_log.h"
#include "daemon/access/authorizer.h"
#include "daemon/access/client_slots.h"
#include "daemon/api/health.h"
#include "daemon/api/read_pool.h"
#include "daemon/api/report_answer.h"
#include "daemon/api/runs_api.h"
#include "daemon/hooks/hook_server.h"
#include "daemon/http/request_check.h"
#include "daemon/runs/engine_threads.h"
#include "daemon/runs/pending_writes.h"
#include "daemon/runs/run_eraser.h"

namespace digd::daemon {

inline constexpr std::size_t max_large_bodies = 64;

class attribution_worker;
class fleet_view;
class search_indexer;

// Decides who may send requests at all.
struct admission {
  const trusted_names& trusted;
  const daemon::authorizer& authorizer;
  connection_counts& connections;
  audit_log& audit;
};

// Reading the archive.
struct archive_access {
  const std::string path;
  read_pool& pool;
  attribution_worker* attribution;
  const search_indexer* search;
  // Responses in progress.
  client_slots traces{trace_response::max_at_once, trace_response::max_at_once_of_client};
  client_slots reports{report_response::max_at_once, report_response::max_at_once_of_client};
};

// Changing runs from outside.
struct run_control {
  const engine_threads& threads;
  std::atomic<mode>& operator_mode;
  run_eraser& eraser;
  pending_writes& judgements;
};

// POST /v1/traces.
struct span_intake {
  otlp_server* server;
  std::uint64_t max_body_bytes;
  client_slots bodies{max_large_bodies, max_large_bodies / 2};  // being read, or waiting for their response
};

// POST /v1/hooks/…
struct hook_intake {
  hook_server* server;
  client_slots bodies{max_large_bodies, max_large_bodies / 2};  // being read, or waiting for their response
};

struct http_services {
  daemon::admission admission;
  archive_access* archive;  // null without an archive; so are feed and webhooks
  feed_server* feed;
  fleet_view* view;  // null: the daemon is not a viewer of a fleet
  webhook_server* webhooks;
  run_control runs;
  span_intake spans;
  hook_intake hooks;
  metrics_sources metrics;
};

}  // namespace digd::daemon
