// The configuration. config/digd.toml explains each option; a test compares the two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/access/payload_settings.h"
#include "daemon/fleet/fleet_settings.h"
#include "daemon/settings/otlp_export_settings.h"
#include "daemon/settings/webhook_settings.h"
#include "engine/policy.h"
#include "ingest/protocol/prices.h"
#include "model/settings.h"

namespace digd::daemon {

struct log_settings {
  std::string level = "info";   // error, warn, info, debug
  std::string format = "text";  // text, json
  bool operator==(const log_settings&) const = default;
};

struct connection_settings {
  std::uint64_t max = 4'096;            // open at once
  std::uint64_t max_per_peer = 0;       // open at once from one peer; 0: see daemon/access/peers.h
  milliseconds idle_ms = 300'000;       // without a frame or an answer to a ping
  std::uint64_t queue_frames = 16'384;  // waiting to be written to one client
  std::uint64_t queue_bytes = 16 << 20;
  milliseconds quiet_ms = 24LL * 3600 * 1000;  // without a message; 0: no limit
  std::uint64_t memory_bytes = 0;  // of unhandled input, over all connections; 0: see daemon/runs/overload.h
  bool operator==(const connection_settings&) const = default;
};

// How long runs are kept; 0: no limit.
struct retention_settings {
  std::uint64_t days = 0;       // after a run ended
  std::uint64_t idle_days = 0;  // after the last message of a run that has not ended
  std::uint64_t bytes = 0;      // of the archive file
  bool operator==(const retention_settings&) const = default;
};

// When load is reduced: the limits, and the percentage of them at which each action begins (0: never).
struct overload_settings {
  std::uint64_t memory_bytes = 0;   // 0: the memory of the cgroup or the machine
  std::uint64_t archive_bytes = 0;  // 0: not measured
  std::uint64_t no_new_runs = 85, shrink_credits = 90, observe = 95, refuse = 98;
  bool operator==(const overload_settings&) const = default;
};

// The limits of POST /v1/traces, and how long digd waits for the rest of a run. docs/otlp.md.
struct otlp_settings {
  std::uint64_t body_bytes = 4 << 20;       // of a request, as sent
  std::uint64_t unpacked_bytes = 16 << 20;  // of a compressed request, unpacked
  milliseconds settle_ms = 2'000;           // without a new span, the messages of a complete run are sent
  milliseconds wait_ms = 30'000;            // the longest wait of a span for other spans of its run
  milliseconds late_ms = 60'000;            // without a new span, a run whose messages were sent ends
  std::uint64_t spans = 200'000;            // held, over all runs
  std::uint64_t run_spans = 20'000;         // held of one run
  std::uint64_t held_bytes = 256 << 20;     // of requests whose runs have not ended
  bool operator==(const otlp_settings&) const = default;
};

// PEM files; without a certificate there is no TLS.
struct tls_settings {
  std::string certificate, key;
  std::string client_ca;  // signs clients' certificates; empty: clients need none
  bool operator==(const tls_settings&) const = default;
};

struct config {
  static constexpr std::uint64_t max_threads = 64;

  std::string listen = "127.0.0.1:7344";
  std::string operator_listen;  // empty: operators use `listen`
  std::string data_dir;         // empty: `find_data_dir` decides
  std::uint64_t threads = 0;    // 0: two, or one where there is one core
  bool archive = true;
  std::vector<std::string> hosts;       // accepted in `Host`, besides this host
  std::vector<std::string> origins;     // accepted in `Origin`, besides this host
  std::string tokens;                   // a file; empty: no tokens, so only this machine may connect
  std::vector<std::string> unix_users;  // may connect to a Unix socket, besides its owner and root
  tls_settings tls;
  payload_settings payloads;
  milliseconds verdict_deadline_ms = 250;
  std::uint64_t credits = 1'024;
  std::uint64_t runs = 10'000;  // open at once
  std::uint64_t run_bytes = 0;  // of one run in the archive, roughly; 0: no limit
  limit_policy over_run_bytes = limit_policy::refuse;
  double enforce_share = 0;  // of the runs in the canary (daemon/settings/canary.h); 0: there is none
  retention_settings retention;
  log_settings log;
  connection_settings connections;
  overload_settings overload;
  otlp_settings otlp;
  std::vector<std::string> transcript_roots;  // folders whose transcripts the daemon may read; empty: none
  fleet_settings fleet;
  otlp_export_settings otlp_export;
  run_policy policy;                        // [defaults], [rules], [limits], [caps]
  std::vector<ingest::model_price> prices;  // [prices."MODEL"]
  std::vector<webhook_settings> webhooks;   // [[webhook]]
};

bool operator==(const config& a, const config& b);

std::size_t thread_count(const config& c);

// $STATE_DIRECTORY, else $XDG_STATE_HOME/digd, else ~/.local/state/digd; empty if none is set.
std::string find_data_dir();

}  // namespace digd::daemon
