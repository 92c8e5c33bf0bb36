// What the engine threads share: constants, atomics, and things with their own way to be safe.
//
// Lifetime: outlives the engine threads' loops. Torn down by `~shared_state` in this order: who reads the
// archive, its writer thread, the handlers still queued, the loops.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "archive/archive.h"
#include "daemon/access/authorizer.h"
#include "daemon/runs/ack_router.h"
#include "daemon/api/operator.h"
#include "daemon/settings/config.h"
#include "daemon/runs/engine_thread.h"
#include "daemon/settings/live_settings.h"
#include "daemon/runs/overload.h"
#include "daemon/http/request_check.h"

namespace digd::daemon {

class feed_server;
class otlp_server;
class read_pool;
class retention;
class webhook_server;

enum class phase : std::uint8_t { starting, serving, stopping };

struct shared_state {
  explicit shared_state(config c);
  ~shared_state();

  engine_thread& owner_of(std::string_view run) {
    return *threads[std::hash<std::string_view>{}(run) % threads.size()];
  }
  std::uint64_t next_run_number() { return store ? store->next_run_number() : unarchived_runs.fetch_add(1) + 1; }

  const config settings;                    // as at the start
  live_settings live;                       // for runs and connections that begin now
  std::unique_ptr<archive::archive> store;  // null: off. Set before the threads start
  ack_router acks;
  trusted_names trusted;  // Host and Origin. Set before the first connection
  class authorizer authorizer;        // bearer tokens
  std::atomic<std::uint64_t> open_runs{0};
  std::atomic<std::uint64_t> connections{0};
  std::atomic<std::uint64_t> connections_refused{0};  // there were too many
  std::atomic<std::uint64_t> strangers_refused{0};    // at a Unix socket: not a user who may
  std::atomic<std::uint64_t> tls_refused{0};          // handshakes that failed
  std::uint64_t runs_lost_to_damage = 0;              // at this start. Set before the threads start
  std::atomic<std::uint64_t> traces{0};               // being sent
  std::atomic<std::uint64_t> reports{0};              // being written
  std::atomic<std::uint64_t> unarchived_runs{0};
  std::atomic<mode> operator_mode{mode::enforce};  // the operator's switch; runs follow it on their threads
  std::atomic<phase> now{phase::starting};
  const std::int64_t started_s;           // Unix seconds
  boost::asio::thread_pool rebuilder{1};  // reads ended runs back
  std::vector<std::unique_ptr<engine_thread>> threads;
  // Without an archive there are none. Set before the threads start.
  std::unique_ptr<read_pool> reads;
  std::unique_ptr<feed_server> feed;
  std::unique_ptr<webhook_server> webhooks;  // set before the archive opens
  std::unique_ptr<retention> keeps;
  std::unique_ptr<otlp_server> spans;    // with an archive or without
  std::atomic<std::uint64_t> bodies{0};  // large ones, being read or waiting for their answer
  pending_writes deletions, judgements;
  overload pressure{*this};
};

}  // namespace digd::daemon
