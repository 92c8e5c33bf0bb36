#include "daemon/api/health.h"

#include <spdlog/async.h>

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "daemon/access/audit_log.h"
#include "daemon/access/memory_budget.h"
#include "daemon/api/read_pool.h"
#include "daemon/feed/feed_server.h"
#include "daemon/fleet/home_keeper.h"
#include "daemon/fleet/publisher.h"
#include "daemon/fleet/view/fleet_view.h"
#include "daemon/hooks/hook_server.h"
#include "daemon/otlp/otlp_server.h"
#include "daemon/runs/engine_threads.h"
#include "daemon/runs/overload.h"
#include "daemon/runs/retention.h"
#include "daemon/webhook/webhook_server.h"

namespace digd::daemon {

namespace {

using boost::beast::http::status;

std::size_t congested_threads(const engine_threads& threads) {
  std::size_t n = 0;
  for (const auto& thread : threads) n += thread->records().is_congested();
  return n;
}

void add_archive(process_facts& now, const archive::archive& archive) {
  now.archive_on = true;
  const archive::counters& c = archive.counted();
  now.archive_queue = archive.queued();
  now.archive_spare = archive.spare_bytes();
  now.archive_entries = c.entries.load();
  now.archive_bytes = c.bytes.load();
  now.archive_commits = c.commits.load();
  now.archive_failed_commits = c.failed_commits.load();
  now.archive_failed_checkpoints = c.failed_checkpoints.load();
  now.archive_queue_full = c.queue_full.load();
  now.archive_shrunk = c.shrunk.load();
  now.archive_set_aside = c.set_aside.load();
  now.archive_deleted_runs = c.deleted_runs.load();
  now.archive_failed_removals = c.failed_removals.load();
  now.archive_well = archive.health().empty();
}

void add_retention(process_facts& now, const retention::counters& c) {
  for (std::size_t i = 0; i < retention::reason_count; ++i) {
    now.retention.push_back({to_string(static_cast<retention::reason>(i)), c.runs[i].load(), c.bytes[i].load()});
  }
  now.retention_over_bytes = c.over_bytes.load();
}

void add_overload(process_facts& now, const overload_state& overload) {
  for (std::size_t r = 0; r < overload_resource_count; ++r) {
    const auto resource = static_cast<overload_resource>(r);
    const overload_state::gauge& gauge = overload.gauge_of(resource);
    now.overload.push_back({to_string(resource), gauge.used.load(), gauge.limit.load()});
  }
  now.archive_file_bytes = overload.archive_sizes().database.load();
  now.archive_log_bytes = overload.archive_sizes().log.load();
  for (std::size_t i = 0; i < overload_action_count; ++i) {
    const auto action = static_cast<overload_action>(i);
    now.overload_steps.push_back({to_string(action), overload.is_on(action), overload.times_begun(action)});
  }
}

void add_feed(process_facts& now, const feed_server::counters& c) {
  now.feed_readers = c.readers.load();
  now.feed_frames = c.frames.load();
  now.feed_dropped = c.dropped.load();
  now.feed_refused = c.refused.load();
}

// All active actions of one resource make one reason; its code names the resource.
void add_overload_reasons(const overload_state& overload, std::vector<reason>& to) {
  std::array<std::string, overload_resource_count> actions;
  for (std::size_t i = 0; i < overload_action_count; ++i) {
    const auto action = static_cast<overload_action>(i);
    const auto cause = overload.cause_of(action);
    if (!cause) continue;
    std::string& list = actions[static_cast<std::size_t>(*cause)];
    list.append(list.empty() ? "" : ", ").append(to_string(action));
  }
  for (std::size_t r = 0; r < overload_resource_count; ++r) {
    if (actions[r].empty()) continue;
    const auto resource = static_cast<overload_resource>(r);
    const overload_state::gauge& gauge = overload.gauge_of(resource);
    to.push_back({"overload_" + std::string(to_string(resource)), std::to_string(gauge.used.load()) + " of " +
                                                                      std::to_string(gauge.limit.load()) +
                                                                      " bytes are used; on: " + actions[r]});
  }
}

// Warnings for an operator that do not make the daemon unready.
void write_notes(json_writer& to, const readiness_sources& from) {
  std::vector<reason> notes;
  if (const std::string lag = from.publisher == nullptr ? "" : from.publisher->problem(); !lag.empty()) {
    notes.push_back({"fleet", lag});
  }
  if (const std::string lost = from.homes == nullptr ? "" : from.homes->problem(); !lost.empty()) {
    notes.push_back({"fleet_lease", lost});
  }
  if (const std::string lost = from.view == nullptr ? "" : from.view->problem(); !lost.empty()) {
    notes.push_back({"fleet_view", lost});
  }
  if (notes.empty()) return;
  to.key("notes").open_array();
  for (const reason& note : notes) {
    to.open_object().key("code").text(note.code).key("message").text(note.message).close_object();
  }
  to.close_array();
}

}  // namespace

std::vector<reason> readiness_problems(const readiness_sources& from) {
  std::vector<reason> reasons;
  const phase now = from.phase.load();
  if (now == phase::starting) reasons.push_back({"starting", std::string(starting_words)});
  if (!from.runs.recovery.is_over()) {
    reasons.push_back({"recovering", "recovering: " + words_of(from.runs.recovery)});
  }
  if (now == phase::stopping) reasons.push_back({"stopping", std::string(stopping_words)});
  if (from.archive) {
    if (const std::string problem = from.archive->health(); !problem.empty()) reasons.push_back({"archive", problem});
    const std::size_t max_queued = from.archive->settings().max_queued_entries;
    if (const std::size_t queued = from.archive->queued(); queued >= max_queued / 10 * 9) {
      reasons.push_back({"archive_queue",
                         std::to_string(queued) + " of " + std::to_string(max_queued) + " entries wait to be durable"});
    }
  }
  if (const std::size_t n = congested_threads(from.threads); n > 0) {
    reasons.push_back(
        {"congested", std::to_string(n) + " engine threads read no further until the archive catches up"});
  }
  add_overload_reasons(from.overload, reasons);
  return reasons;
}

http_response readiness(const readiness_sources& from) {
  const std::vector<reason> problems = readiness_problems(from);
  std::string body;
  json_writer to(body);
  to.open_object().key("ready").boolean(problems.empty()).key("reasons").open_array();
  for (const reason& r : problems) {
    to.open_object().key("code").text(r.code).key("message").text(r.message).close_object();
  }
  to.close_array();
  write_notes(to, from);
  to.close_object();
  http_response response =
      respond(problems.empty() ? status::ok : status::service_unavailable, "application/json", body + '\n');
  if (!problems.empty()) response.set(boost::beast::http::field::retry_after, "1");
  return response;
}

http_response metrics(const metrics_sources& from) {
  process_facts now;
  now.version = DIGD_VERSION;
  now.started_s = from.started_s;
  now.ready = readiness_problems(from.readiness).empty();
  now.operator_mode = from.operator_mode.load();
  now.connections = from.connections.open.load() + from.operator_connections.open.load();
  now.connections_refused = from.connections.refused.load();
  now.connections_of_peer_refused =
      from.connections.refused_of_peer.load() + from.operator_connections.refused_of_peer.load();
  now.connections_of_token_refused = from.connections.refused_of_token.load();
  now.tokens_refused = from.connections.tokens_refused.load();
  now.operator_connections_refused = from.operator_connections.refused.load();
  now.connection_memory_bytes = from.memory.used();
  now.connections_over_memory = from.memory.closed();
  now.audit_dropped = from.audit.dropped();
  now.peers_refused = from.connections.peers_refused.load() + from.operator_connections.peers_refused.load();
  now.tls_refused = from.connections.tls_refused.load() + from.operator_connections.tls_refused.load();
  if (const auto log = spdlog::thread_pool()) now.log_dropped = log->overrun_counter();
  now.runs_lost_to_damage = from.runs_lost_to_damage;
  now.runs_open = from.runs.open.load();
  const std::uint64_t recovered = from.runs.recovery.done.load(), found = from.runs.recovery.found.load();
  now.runs_recovering = found - std::min(found, recovered);
  now.congested_threads = congested_threads(from.readiness.threads);
  std::vector<const thread_counts*> counts;
  for (const auto& thread : from.readiness.threads) {
    const engine_thread& seen = *thread;
    counts.push_back(&seen.counts());
    now.backlog += seen.records().backlog();
    now.delayed_entries += seen.records().delayed();
  }
  if (from.readiness.archive) add_archive(now, *from.readiness.archive);
  if (from.retention != nullptr) add_retention(now, from.retention->counted());
  if (from.feed != nullptr) add_feed(now, from.feed->counted());
  if (from.webhooks != nullptr) now.webhooks = from.webhooks->counted();
  if (from.spans != nullptr) now.otlp = &from.spans->counted();
  if (from.hooks != nullptr) now.hooks = &from.hooks->counted();
  if (from.reads != nullptr) {
    now.reads_waiting = from.reads->waiting();
    now.reads_refused = from.reads->refused();
  }
  if (from.readiness.publisher != nullptr && from.readiness.publisher->is_on()) {
    now.fleet = &from.readiness.publisher->counted();
  }
  if (from.readiness.homes != nullptr) {
    now.homes = &from.readiness.homes->counted();
    now.holds_lease = from.readiness.homes->may_judge(from.readiness.homes->generation());
  }
  now.resident_bytes = resident_bytes();
  const heap_use heap = heap_in_use();
  now.heap_bytes = heap.allocated;
  now.heap_free_bytes = heap.free;
  add_overload(now, from.readiness.overload);
  return respond(status::ok, "text/plain; version=0.0.4; charset=utf-8", metrics_text(counts, now));
}

}  // namespace digd::daemon
