// The parts of a daemon that answer HTTP requests, without sockets and tokens. Its engine thread does not run: the test
// runs the thread's loop.
#pragma once

#include <memory>
#include <utility>

#include "daemon/access/memory_budget.h"
#include "daemon/api/http_services.h"
#include "tests/daemon/one_engine_thread.h"

namespace digd::daemon {

struct offline_daemon {
  // `store`: null for a daemon without an archive. Only /metrics and /readyz use it; other requests get `archive_off`.
  explicit offline_daemon(std::unique_ptr<archive::archive> store = nullptr) : engine(std::move(store)) {}

  one_engine_thread engine;
  const trusted_names trusted{tcp_address{boost::asio::ip::make_address("127.0.0.1"), 7344}, {}, {}};
  const authorizer without_tokens;
  std::atomic<phase> now{phase::serving};
  connection_counts connections, operator_connections;
  memory_budget memory;
  audit_log audit{""};
  const peer_ptr from = std::make_shared<peer>("127.0.0.1", true, false);
  pending_writes deletions, judgements;
  run_eraser eraser{deletions, [](std::uint64_t) {}};
  hook_server hooks{engine.threads, engine.live, {}};
  http_services services{
      .admission = {.trusted = trusted, .authorizer = without_tokens, .connections = connections, .audit = audit},
      .archive = nullptr,
      .feed = nullptr,
      .view = nullptr,
      .webhooks = nullptr,
      .runs = {.threads = engine.threads,
               .operator_mode = engine.operator_mode,
               .eraser = eraser,
               .judgements = judgements},
      .spans = {.server = nullptr, .max_body_bytes = 0},
      .hooks = {.server = &hooks},
      .metrics = {.readiness = {.phase = now,
                                .archive = engine.archive,
                                .threads = engine.threads,
                                .overload = engine.overload,
                                .runs = engine.counts,
                                .publisher = nullptr,
                                .homes = nullptr},
                  .started_s = 0,
                  .runs_lost_to_damage = 0,
                  .connections = connections,
                  .operator_connections = operator_connections,
                  .memory = memory,
                  .audit = audit,
                  .runs = engine.counts,
                  .operator_mode = engine.operator_mode,
                  .feed = nullptr,
                  .webhooks = nullptr,
                  .reads = nullptr,
                  .retention = nullptr,
                  .spans = nullptr,
                  .hooks = &hooks}};
};

}  // namespace digd::daemon
