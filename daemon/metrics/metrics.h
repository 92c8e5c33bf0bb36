// Writes /metrics: all counters as Prometheus text. docs/operate.md explains each family; a test compares the two.
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/metrics/thread_counts.h"
#include "model/settings.h"

namespace digd::daemon {

struct hook_counts;
struct otlp_counts;
struct home_counts;
struct publisher_counts;
struct webhook_counts;

// The runs that retention deleted for one reason.
struct retention_count {
  std::string_view reason;
  std::uint64_t runs = 0, bytes = 0;
};

// A resource that the overload manager watches, and a step that it takes.
struct overload_fact {
  std::string_view resource;
  std::uint64_t used = 0, limit = 0;
};
struct overload_step {
  std::string_view action;
  bool on = false;
  std::uint64_t begun = 0;
};

// The facts at the moment of the scrape that no engine thread counts.
struct process_facts {
  std::string_view version;
  std::int64_t started_s = 0;  // Unix seconds
  bool ready = false;
  digd::mode operator_mode = mode::enforce;
  std::uint64_t connections = 0, connections_refused = 0, connections_of_peer_refused = 0,
                connections_of_token_refused = 0, tokens_refused = 0, audit_dropped = 0,
                operator_connections_refused = 0;
  std::uint64_t connection_memory_bytes = 0, connections_over_memory = 0;
  std::uint64_t peers_refused = 0, tls_refused = 0;
  std::uint64_t log_dropped = 0;
  std::uint64_t runs_lost_to_damage = 0;
  std::uint64_t runs_open = 0, runs_recovering = 0;
  std::uint64_t backlog = 0, delayed_entries = 0, congested_threads = 0;
  bool archive_on = false;
  std::uint64_t archive_queue = 0, archive_spare = 0, archive_entries = 0, archive_bytes = 0, archive_commits = 0;
  std::uint64_t archive_failed_commits = 0, archive_failed_checkpoints = 0, archive_queue_full = 0;
  std::uint64_t archive_shrunk = 0, archive_set_aside = 0, archive_deleted_runs = 0;
  std::uint64_t archive_file_bytes = 0, archive_log_bytes = 0;
  std::uint64_t archive_failed_removals = 0, retention_over_bytes = 0;
  std::vector<retention_count> retention;
  std::vector<overload_fact> overload;
  std::vector<overload_step> overload_steps;
  bool archive_well = true;
  std::uint64_t feed_readers = 0, feed_frames = 0, feed_dropped = 0, feed_refused = 0;
  std::vector<std::shared_ptr<const webhook_counts>> webhooks;
  const otlp_counts* otlp = nullptr;
  const hook_counts* hooks = nullptr;
  const publisher_counts* fleet = nullptr;  // null: no fleet
  const home_counts* homes = nullptr;       // null: runs have no homes
  bool holds_lease = false;
  std::uint64_t reads_waiting = 0, reads_refused = 0;
  std::uint64_t resident_bytes = 0, heap_bytes = 0, heap_free_bytes = 0;
};

std::string metrics_text(std::span<const thread_counts* const> threads, const process_facts& now);

}  // namespace digd::daemon
