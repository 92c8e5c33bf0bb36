#include "daemon/api/health.h"

#include <array>
#include <filesystem>

#include "base/quote.h"
#include "daemon/api/read_pool.h"
#include "daemon/feed/feed_server.h"
#include "daemon/otlp/otlp_server.h"
#include "daemon/runs/retention.h"
#include "daemon/shared_state.h"
#include "daemon/webhook/webhook_server.h"

namespace digd::daemon {

namespace {

using boost::beast::http::status;

std::uint64_t size_of(const std::string& file) {
  std::error_code ec;
  const auto size = std::filesystem::file_size(file, ec);
  return ec ? 0 : size;
}

std::size_t congested_threads(const shared_state& shared) {
  std::size_t n = 0;
  for (const auto& thread : shared.threads) n += thread->records_seen().is_congested();
  return n;
}

void add_archive(process_facts& now, const shared_state& shared) {
  now.archive_on = shared.store != nullptr;
  if (!now.archive_on) return;
  const archive::counters& c = shared.store->counted();
  now.archive_queue = shared.store->queued();
  now.archive_entries = c.entries.load();
  now.archive_bytes = c.bytes.load();
  now.archive_commits = c.commits.load();
  now.archive_failed_commits = c.failed_commits.load();
  now.archive_failed_checkpoints = c.failed_checkpoints.load();
  now.archive_queue_full = c.queue_full.load();
  now.archive_set_aside = c.set_aside.load();
  now.archive_deleted_runs = c.deleted_runs.load();
  now.archive_failed_removals = c.failed_removals.load();
  if (shared.keeps) {
    const retention::counters& kept = shared.keeps->counted();
    for (std::size_t i = 0; i < retention::reason_count; ++i) {
      now.retention.push_back(
          {to_string(static_cast<retention::reason>(i)), kept.runs[i].load(), kept.bytes[i].load()});
    }
    now.retention_over_bytes = kept.over_bytes.load();
  }
  now.archive_well = shared.store->health().empty();
  now.archive_file_bytes = size_of(shared.store->how().path);
  now.archive_log_bytes = size_of(shared.store->how().path + "-wal");
}

void add_overload(process_facts& now, const shared_state& shared) {
  const overload::counters& c = shared.pressure.counted();
  for (std::size_t r = 0; r < overload_resource_count; ++r) {
    now.overload.push_back(
        {to_string(static_cast<overload_resource>(r)), c.resources[r].used.load(), c.resources[r].limit.load()});
  }
  for (std::size_t i = 0; i < overload_action_count; ++i) {
    const auto action = static_cast<overload_action>(i);
    now.overload_steps.push_back({to_string(action), shared.pressure.is_on(action), c.begun[i].load()});
  }
}

// All that is on for one resource is one reason, with the resource as its code.
void add_overload_reasons(const shared_state& shared, std::vector<reason>& to) {
  std::array<std::string, overload_resource_count> actions;
  for (std::size_t i = 0; i < overload_action_count; ++i) {
    const auto action = static_cast<overload_action>(i);
    const auto cause = shared.pressure.cause_of(action);
    if (!cause) continue;
    std::string& list = actions[static_cast<std::size_t>(*cause)];
    list.append(list.empty() ? "" : ", ").append(to_string(action));
  }
  for (std::size_t r = 0; r < overload_resource_count; ++r) {
    if (actions[r].empty()) continue;
    const overload::gauge& of = shared.pressure.counted().resources[r];
    to.push_back({"overload_" + std::string(to_string(static_cast<overload_resource>(r))),
                  std::to_string(of.used.load()) + " of " + std::to_string(of.limit.load()) +
                      " bytes are used; on: " + actions[r]});
  }
}

}  // namespace

std::vector<reason> why_not_ready(const shared_state& shared) {
  std::vector<reason> reasons;
  const phase now = shared.now.load();
  if (now == phase::starting) reasons.push_back({"recovering", "runs are being read back from the archive"});
  if (now == phase::stopping) reasons.push_back({"stopping", "the daemon stops"});
  if (shared.store) {
    if (const std::string words = shared.store->health(); !words.empty()) reasons.push_back({"archive", words});
    const std::size_t most = shared.store->how().queue_entries;
    if (const std::size_t queued = shared.store->queued(); queued >= most / 10 * 9) {
      reasons.push_back(
          {"archive_queue", std::to_string(queued) + " of " + std::to_string(most) + " entries wait to be durable"});
    }
  }
  if (const std::size_t n = congested_threads(shared); n > 0) {
    reasons.push_back(
        {"congested", std::to_string(n) + " engine threads read no further until the archive catches up"});
  }
  add_overload_reasons(shared, reasons);
  return reasons;
}

http_response readiness(const shared_state& shared) {
  const std::vector<reason> why_not = why_not_ready(shared);
  std::string body = why_not.empty() ? "{\"ready\":true,\"reasons\":[" : "{\"ready\":false,\"reasons\":[";
  for (std::size_t i = 0; i < why_not.size(); ++i) {
    body.append(i == 0 ? "{\"code\":" : ",{\"code\":");
    append_quoted(body, why_not[i].code);
    body += ",\"message\":";
    append_quoted(body, why_not[i].message);
    body += '}';
  }
  return respond(why_not.empty() ? status::ok : status::service_unavailable, "application/json", body + "]}\n");
}

http_response metrics(const shared_state& shared) {
  process_facts now;
  now.version = DIGD_VERSION;
  now.started_s = shared.started_s;
  now.ready = why_not_ready(shared).empty();
  now.operator_mode = shared.operator_mode.load();
  now.connections = shared.connections.load();
  now.connections_refused = shared.connections_refused.load();
  now.strangers_refused = shared.strangers_refused.load();
  now.tls_refused = shared.tls_refused.load();
  now.runs_lost_to_damage = shared.runs_lost_to_damage;
  now.runs_open = shared.open_runs.load();
  now.congested_threads = congested_threads(shared);
  std::vector<const thread_counts*> counts;
  for (const auto& thread : shared.threads) {
    counts.push_back(&thread->counts());
    now.backlog += thread->records_seen().backlog();
    now.kept_back += thread->records_seen().kept_back();
  }
  add_archive(now, shared);
  if (shared.feed) {
    now.feed_readers = shared.feed->counted().readers.load();
    now.feed_frames = shared.feed->counted().frames.load();
    now.feed_dropped = shared.feed->counted().dropped.load();
    now.feed_refused = shared.feed->counted().refused.load();
  }
  if (shared.webhooks) now.webhooks = shared.webhooks->counted();
  if (shared.spans) now.otlp = &shared.spans->counted();
  if (shared.reads) now.reads_waiting = shared.reads->waiting();
  now.resident_bytes = resident_bytes();
  add_overload(now, shared);
  return respond(status::ok, "text/plain; version=0.0.4; charset=utf-8", metrics_text(counts, now));
}

}  // namespace digd::daemon
