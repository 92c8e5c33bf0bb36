#include "daemon/metrics/metrics.h"

#include <algorithm>
#include <array>

#include "daemon/metrics/home_counts.h"
#include "daemon/metrics/hook_counts.h"
#include "daemon/metrics/otlp_counts.h"
#include "daemon/metrics/prometheus.h"
#include "daemon/metrics/publisher_counts.h"
#include "daemon/metrics/webhook_counts.h"

namespace digd::daemon {

namespace {

using counts = std::span<const thread_counts* const>;

template <class Pick>
std::uint64_t sum(counts threads, Pick pick) {
  std::uint64_t total = 0;
  for (const thread_counts* counts : threads) total += pick(*counts).value();
  return total;
}

// A gauge: things that have begun and not ended. Threads keep counting, so it reads `ended` first; each end follows its
// beginning.
template <class Begun, class Ended>
std::uint64_t difference(counts threads, Begun begun, Ended ended) {
  const std::uint64_t ends = sum(threads, ended), beginnings = sum(threads, begun);
  return beginnings - std::min(beginnings, ends);
}

// A family with one label that runs over some values of an enumeration.
template <class Enum, class Pick>
void by(prometheus_text& out, counts threads, std::string_view name, std::string_view help, std::string_view label,
        std::span<const Enum> values, Pick pick) {
  out.family(name, "counter", help);
  for (const Enum value : values) {
    out.sample(sum(threads, [&](const thread_counts& t) -> const counter& { return pick(t)[value]; }),
               {{label, to_string(value)}});
  }
}

// The values of an enumeration from `first` to `last`.
template <auto first, decltype(first) last>
constexpr auto values() {
  std::array<decltype(first), static_cast<std::size_t>(last) - static_cast<std::size_t>(first) + 1> listed{};
  for (std::size_t i = 0; i < listed.size(); ++i) {
    listed[i] = static_cast<decltype(first)>(static_cast<std::size_t>(first) + i);
  }
  return listed;
}

constexpr auto message_types = values<message_type::agent_joined, message_type::usage>();
constexpr auto refusals = values<refusal::bad_json, refusal::hold_closed>();
constexpr auto causes = values<cause::mode, cause::ended>();
constexpr auto limits = values<limit_id::message_bytes, limit_id::fleet_lease>();
constexpr auto verdict_actions = std::array{action::deliver, action::inject, action::reroute, action::hold};
constexpr auto intervention_actions = std::array{action::reroute, action::create, action::release, action::cancel};
constexpr auto outcomes = values<outcome_kind::cleared, outcome_kind::unresolved>();

void write_messages(prometheus_text& out, counts threads) {
  by<message_type>(out, threads, "digd_messages_total", "Messages accepted.", "type", message_types,
                   [](const thread_counts& t) -> auto& { return t.messages; });
  by<refusal>(out, threads, "digd_refusals_total", "Messages refused that used up their seq.", "code", refusals,
              [](const thread_counts& t) -> auto& { return t.refusals; });
  by<action>(out, threads, "digd_verdicts_total", "Verdicts on blocked events.", "action", verdict_actions,
             [](const thread_counts& t) -> auto& { return t.verdicts; });
  out.counter("digd_window_firings_total", "Times that windows fired without a message.",
              sum(threads, [](const thread_counts& t) -> auto& { return t.firings; }));
  out.counter("digd_judging_resumed_total", "Runs that are judged again after a limit had stopped it.",
              sum(threads, [](const thread_counts& t) -> auto& { return t.judging_resumed; }));
  out.counter("digd_held_messages_total", "Messages that waited for ids of other sessions.",
              sum(threads, [](const thread_counts& t) -> auto& { return t.held_messages; }));
}

void write_latency(prometheus_text& out, counts threads) {
  out.family("digd_verdict_latency_seconds", "histogram", "From a frame read to its verdicts queued for the socket.");
  std::uint64_t below = 0, sum_ns = 0;
  for (std::size_t i = 0; i < latency_histogram::buckets; ++i) {
    for (const thread_counts* counts : threads) below += counts->verdict_latency.count(i);
    if (i == latency_histogram::upper_us.size()) break;
    std::string upper = std::to_string(latency_histogram::upper_us[i] / 1e6);
    while (upper.back() == '0') upper.pop_back();
    if (upper.back() == '.') upper.pop_back();
    out.sample(below, {{"le", upper}}, "_bucket");
  }
  for (const thread_counts* counts : threads) sum_ns += counts->verdict_latency.sum_ns();
  out.sample(below, {{"le", "+Inf"}}, "_bucket");
  out.sample(static_cast<double>(sum_ns) / 1e9, {}, "_sum");
  out.sample(below, {}, "_count");
}

void write_judging(prometheus_text& out, counts threads) {
  out.family("digd_detections_total", "counter", "Times a rule fired.");
  for (std::size_t rule = 0; rule < rule_count; ++rule) {
    for (const std::size_t healed : {0, 1}) {
      out.sample(sum(threads, [&](const thread_counts& t) -> auto& { return t.detections[rule][healed]; }),
                 {{"rule", rule_names[rule]}, {"healed", healed == 1 ? "true" : "false"}});
    }
  }
  by<cause>(out, threads, "digd_unhealed_total", "Detections that were not healed, by cause.", "cause", causes,
            [](const thread_counts& t) -> auto& { return t.causes; });
  by<action>(out, threads, "digd_interventions_total", "Healings without a blocked event, and the ends of holds.",
             "action", intervention_actions, [](const thread_counts& t) -> auto& { return t.interventions; });
  out.family("digd_outcomes_total", "counter", "Healings, by outcome.");
  for (std::size_t rule = 0; rule < rule_count; ++rule) {
    for (const outcome_kind outcome : outcomes) {
      out.sample(sum(threads, [&](const thread_counts& t) -> auto& { return t.outcomes[rule][outcome]; }),
                 {{"rule", rule_names[rule]}, {"outcome", to_string(outcome)}});
    }
  }
}

void write_runs(prometheus_text& out, counts threads, const process_facts& now) {
  const auto total = [&](auto pick) { return sum(threads, pick); };
  out.gauge("digd_connections", "Open connections of any kind.", now.connections);
  out.gauge("digd_connection_memory_bytes", "Input of connections that digd has not handled, and their buffers.",
            now.connection_memory_bytes);
  out.gauge("digd_sessions", "Connected clients that have sent a hello.",
            difference(
                threads, [](const thread_counts& t) -> auto& { return t.sessions_opened; },
                [](const thread_counts& t) -> auto& { return t.sessions_closed; }));
  out.counter("digd_sessions_opened_total", "Hellos that were welcomed.",
              total([](const thread_counts& t) -> auto& { return t.sessions_opened; }));
  out.gauge("digd_runs_open", "Runs that have not ended.", now.runs_open);
  out.gauge("digd_runs_recovering", "Open runs that are still read back after the start.", now.runs_recovering);
  out.gauge("digd_runs_in_memory", "Runs in memory: open runs, and ended ones with a connected client.",
            difference(
                threads, [](const thread_counts& t) -> auto& { return t.runs_loaded; },
                [](const thread_counts& t) -> auto& { return t.runs_unloaded; }));
  out.counter("digd_runs_opened_total", "Runs opened since the start.",
              total([](const thread_counts& t) -> auto& { return t.runs_opened; }));
  out.counter("digd_runs_ended_total", "Runs ended since the start.",
              total([](const thread_counts& t) -> auto& { return t.runs_ended; }));
  out.counter("digd_runs_deleted_total", "Runs deleted since the start.",
              total([](const thread_counts& t) -> auto& { return t.runs_deleted; }));
  out.counter("digd_credits_paused_total", "Times digd paused reading a connection: its credits were used up.",
              total([](const thread_counts& t) -> auto& { return t.credits_paused; }));
  out.counter("digd_rate_paused_total", "Times digd paused reading a connection: its token's rate, or too many pings.",
              total([](const thread_counts& t) -> auto& { return t.rate_paused; }));
  out.family("digd_limits_hit_total", "counter", "Times a limit was hit.");
  out.sample(now.connections_refused, {{"limit", "connections"}});
  out.sample(now.connections_of_peer_refused, {{"limit", "connections_of_peer"}});
  out.sample(now.connections_over_memory, {{"limit", "connection_memory"}});
  out.sample(now.operator_connections_refused, {{"limit", "operator_connections"}});
  out.sample(now.connections_of_token_refused, {{"limit", "connections_of_token"}});
  out.sample(total([](const thread_counts& t) -> auto& { return t.runs_of_token_refused; }),
             {{"limit", "runs_of_token"}});
  out.sample(total([](const thread_counts& t) -> auto& { return t.runs_refused; }), {{"limit", "runs"}});
  out.sample(total([](const thread_counts& t) -> auto& { return t.slow_clients; }), {{"limit", "client_queue"}});
  out.sample(now.reads_refused, {{"limit", "archive_reads"}});
  out.sample(now.archive_queue_full, {{"limit", "archive_queue"}});
  out.sample(now.feed_dropped, {{"limit", "feed_queue"}});
  out.sample(now.feed_refused, {{"limit", "feed_readers"}});
  out.sample(total([](const thread_counts& t) -> auto& { return t.credits_paused; }), {{"limit", "credits"}});
  out.sample(total([](const thread_counts& t) -> auto& { return t.rate_paused; }), {{"limit", "rate"}});
  out.sample(total([](const thread_counts& t) -> auto& { return t.quiet_sessions; }), {{"limit", "quiet"}});
  out.sample(total([](const thread_counts& t) -> auto& { return t.idle_connections; }), {{"limit", "idle"}});
  for (const limit_id limit : limits) {
    out.sample(total([limit](const thread_counts& t) -> auto& { return t.limits[limit]; }),
               {{"limit", to_string(limit)}});
  }
  out.counter("digd_strangers_refused_total", "Connections to the Unix socket by users without access.",
              now.peers_refused);
  out.counter("digd_tokens_refused_total", "Requests without a known token.", now.tokens_refused);
  out.counter("digd_audit_dropped_total", "Lines of the audit log dropped: the disk was too slow.", now.audit_dropped);
  out.counter("digd_log_dropped_total", "Log lines dropped: standard error was read too slowly.", now.log_dropped);
  out.counter("digd_tls_refused_total", "TLS handshakes that failed.", now.tls_refused);
  out.counter("digd_http_requests_total", "HTTP requests answered.",
              total([](const thread_counts& t) -> auto& { return t.http.requests; }));
  out.counter("digd_http_errors_total", "HTTP requests answered with 4xx or 5xx.",
              total([](const thread_counts& t) -> auto& { return t.http.errors; }));
}

void write_overload(prometheus_text& out, const process_facts& now) {
  out.family("digd_overload_used_bytes", "gauge", "Use of each resource that the overload manager watches.");
  for (const overload_fact& overload_fact : now.overload)
    out.sample(overload_fact.used, {{"resource", overload_fact.resource}});
  out.family("digd_overload_limit_bytes", "gauge", "The limit of the resource; 0: not watched.");
  for (const overload_fact& overload_fact : now.overload)
    out.sample(overload_fact.limit, {{"resource", overload_fact.resource}});
  out.family("digd_overload_action", "gauge", "1 while digd reduces load in this way.");
  for (const overload_step& overload_step : now.overload_steps)
    out.sample(std::uint64_t{overload_step.on}, {{"action", overload_step.action}});
  out.family("digd_overload_begun_total", "counter", "Times that this reduction began.");
  for (const overload_step& overload_step : now.overload_steps)
    out.sample(overload_step.begun, {{"action", overload_step.action}});
}

void write_archive(prometheus_text& out, const process_facts& now) {
  out.gauge("digd_archive_backlog_entries", "Entries that wait on engine threads: the archive's queue is full.",
            now.backlog);
  out.counter("digd_archive_kept_back_total", "Entries that have waited there since the start.", now.delayed_entries);
  out.gauge("digd_congested_threads", "Engine threads that read no messages until the archive catches up.",
            now.congested_threads);
  if (!now.archive_on) return;
  out.gauge("digd_archive_queue_entries", "Entries accepted and not yet durable.", now.archive_queue);
  out.gauge("digd_archive_spare_bytes", "Memory of written entries and their parcels that wait to be filled again.",
            now.archive_spare);
  out.gauge("digd_archive_runs_lost",
            "Runs of which nothing could be kept when a damaged archive was set aside at the start.",
            now.runs_lost_to_damage);
  out.gauge("digd_archive_well", "1 if the archive can write.", now.archive_well ? 1 : 0);
  out.counter("digd_archive_entries_total", "Entries made durable.", now.archive_entries);
  out.counter("digd_archive_bytes_total", "Approximate bytes of these entries.", now.archive_bytes);
  out.counter("digd_archive_commits_total", "Commits.", now.archive_commits);
  out.counter("digd_archive_failed_commits_total", "Commits that failed and were retried.", now.archive_failed_commits);
  out.counter("digd_archive_failed_checkpoints_total",
              "Times that the write-ahead log could not be moved into the file.", now.archive_failed_checkpoints);
  out.counter("digd_archive_shrunk_total", "Entries too large to be archived whole.", now.archive_shrunk);
  out.counter("digd_archive_set_aside_total", "Entries that contradict their stored run.", now.archive_set_aside);
  out.counter("digd_archive_deleted_runs_total", "Runs deleted from the file.", now.archive_deleted_runs);
  out.counter("digd_archive_failed_removals_total", "Steps of deletions that failed and were retried.",
              now.archive_failed_removals);
  out.family("digd_retention_runs_total", "counter", "Runs that retention deleted, by reason.");
  for (const retention_count& retention_count : now.retention)
    out.sample(retention_count.runs, {{"reason", retention_count.reason}});
  out.family("digd_retention_bytes_total", "counter", "Bytes of JSON that these runs had stored.");
  for (const retention_count& retention_count : now.retention)
    out.sample(retention_count.bytes, {{"reason", retention_count.reason}});
  out.gauge("digd_retention_over_bytes", "Bytes over retention.bytes that no deletion can free.",
            now.retention_over_bytes);
  out.gauge("digd_archive_file_bytes", "Size of the archive file.", now.archive_file_bytes);
  out.gauge("digd_archive_log_bytes", "Size of its write-ahead log.", now.archive_log_bytes);
  out.gauge("digd_archive_reads_waiting", "Requests that wait for a reader of the archive.", now.reads_waiting);
  out.gauge("digd_feed_readers", "Connections to the feed.", now.feed_readers);
  out.counter("digd_feed_frames_total", "Frames sent to them.", now.feed_frames);
}

// The configuration names the webhooks and limits their number, so the label has few values.
template <class Pick>
void by_webhook(prometheus_text& out, const process_facts& now, std::string_view name, std::string_view kind,
                std::string_view help, Pick pick) {
  out.family(name, kind, help);
  for (const auto& webhook_counts : now.webhooks)
    out.sample(pick(*webhook_counts).load(), {{"webhook", webhook_counts->name}});
}

void write_webhooks(prometheus_text& out, const process_facts& now) {
  by_webhook(out, now, "digd_webhook_posted_total", "counter", "Callbacks delivered.",
             [](const webhook_counts& w) -> auto& { return w.posted; });
  by_webhook(out, now, "digd_webhook_failed_total", "counter", "Attempts that failed.",
             [](const webhook_counts& w) -> auto& { return w.failed; });
  by_webhook(out, now, "digd_webhook_retried_total", "counter", "Attempts after a failed one.",
             [](const webhook_counts& w) -> auto& { return w.retried; });
  by_webhook(out, now, "digd_webhook_died_total", "counter", "Callbacks that became dead letters.",
             [](const webhook_counts& w) -> auto& { return w.died; });
  by_webhook(out, now, "digd_webhook_dead_dropped_total", "counter", "Dead letters dropped for newer ones.",
             [](const webhook_counts& w) -> auto& { return w.dead_dropped; });
  by_webhook(out, now, "digd_webhook_joined_total", "counter", "Alerts left out, because an equal one was just posted.",
             [](const webhook_counts& w) -> auto& { return w.joined; });
  by_webhook(out, now, "digd_webhook_rate_waits_total", "counter", "Posts that had to wait for the webhook's rate.",
             [](const webhook_counts& w) -> auto& { return w.rate_waits; });
  by_webhook(out, now, "digd_webhook_dead_letters", "gauge", "Dead letters kept.",
             [](const webhook_counts& w) -> auto& { return w.dead; });
  by_webhook(out, now, "digd_webhook_waiting", "gauge", "Callbacks that wait, including those being posted.",
             [](const webhook_counts& w) -> auto& { return w.waiting; });
  by_webhook(out, now, "digd_webhook_under_way", "gauge", "Posts in progress.",
             [](const webhook_counts& w) -> auto& { return w.under_way; });
  by_webhook(out, now, "digd_webhook_unread", "gauge", "Detections and interventions in the archive not read yet.",
             [](const webhook_counts& w) -> auto& { return w.unread; });
}

void write_otlp(prometheus_text& out, const otlp_counts& c) {
  out.counter("digd_otlp_requests_total", "Requests with spans that digd examined or refused.", c.requests.load());
  out.counter("digd_otlp_refused_total", "Of these, those answered with 4xx or 5xx.", c.refused.load());
  out.counter("digd_otlp_busy_total", "Requests refused because of a limit, which the answer names.", c.busy.load());
  out.counter("digd_otlp_dropped_links_total", "Links of accepted spans that digd dropped because of a limit.",
              c.dropped_links.load());
  out.family("digd_otlp_spans_total", "counter", "Spans, by result.");
  const std::pair<std::string_view, const otlp_counts::count&> spans[] = {{"accepted", c.spans},
                                                                          {"duplicate", c.duplicate},
                                                                          {"invalid", c.invalid},
                                                                          {"late", c.late},
                                                                          {"over_limit", c.over}};
  for (const auto& [result, n] : spans) out.sample(n.load(), {{"result", result}});
  out.family("digd_otlp_runs_total", "counter", "Runs made of spans, by step.");
  const std::pair<std::string_view, const otlp_counts::count&> runs[] = {
      {"told", c.reported},       {"ended", c.ended},       {"ended_early", c.ended_early},
      {"no_agents", c.no_agents}, {"given_up", c.given_up}, {"unmergeable", c.unmergeable}};
  for (const auto& [step, n] : runs) out.sample(n.load(), {{"what", step}});
  out.counter("digd_otlp_moved_total", "Messages whose time or source was changed to fit messages sent before.",
              c.moved.load());
  out.gauge("digd_otlp_held_runs", "Runs made of spans that have not ended.", c.held_runs.load());
  out.gauge("digd_otlp_held_spans", "Their spans.", c.held_spans.load());
  out.gauge("digd_otlp_held_bytes", "Bytes of the requests that brought these.", c.held_bytes.load());
}

void write_hooks(prometheus_text& out, const hook_counts& c) {
  out.counter("digd_hook_calls_total", "Hook calls of coding agents.", c.calls.load());
  out.counter("digd_hook_unknown_total", "Of these, hooks that digd does not know.", c.unknown.load());
  out.counter("digd_hook_unused_total", "Of these, hooks that digd knows and needs nothing of.", c.unused.load());
  out.counter("digd_hook_malformed_total", "Hook calls answered with 400.", c.malformed.load());
  out.counter("digd_hook_forbidden_total", "Hook calls of a session that belongs to another token.",
              c.forbidden.load());
  out.counter("digd_hook_late_total", "Hooks answered at the deadline, without a verdict.", c.late.load());
  out.counter("digd_hook_skipped_total", "Hook calls answered but not recorded.", c.skipped.load());
  out.family("digd_hook_interventions_total", "counter", "Answers that change what a coding agent does.");
  const std::pair<std::string_view, const hook_counts::count&> changes[] = {
      {"denied", c.denied}, {"blocked", c.blocked}, {"amended", c.amended}};
  for (const auto& [change, n] : changes) out.sample(n.load(), {{"change", change}});
  out.counter("digd_hook_transcripts_read_total", "Transcripts read for usage.", c.transcripts_read.load());
  out.counter("digd_hook_transcripts_refused_total", "Transcripts that digd may not or cannot read.",
              c.transcripts_refused.load());
  out.counter("digd_hook_transcripts_skipped_total", "Transcripts not read because too many calls waited.",
              c.transcripts_skipped.load());
  out.gauge("digd_hook_sessions", "Sessions of coding agents that digd follows.", c.sessions.load());
  out.counter("digd_hook_sessions_evicted_total", "Sessions that made room for others.", c.evicted.load());
  out.counter("digd_hook_idle_runs_total", "Runs of hooks that digd ended because no call came.", c.idle_runs.load());
}

void write_homes(prometheus_text& out, const home_counts& c, bool holds_lease) {
  out.gauge("digd_fleet_lease_held", "1 while this daemon may judge its runs, else 0.", holds_lease ? 1 : 0);
  out.counter("digd_fleet_leases_lost_total", "Times that the lease was not renewed in time.", c.leases_lost.load());
  out.counter("digd_fleet_renewals_failed_total", "Requests about the lease that failed.", c.renewals_failed.load());
  out.counter("digd_fleet_homes_reconnects_total", "Connections for homes that were replaced.", c.reconnects.load());
  out.counter("digd_fleet_homes_opened_total", "New runs whose home is this daemon.", c.opened.load());
  out.counter("digd_fleet_homes_kept_total", "Runs of this archive whose home was confirmed.", c.kept.load());
  out.counter("digd_fleet_homes_taken_total", "Runs that were restored from the stream.", c.taken.load());
  out.counter("digd_fleet_homes_elsewhere_total", "Questions about runs with another home.", c.elsewhere.load());
  out.counter("digd_fleet_homes_unavailable_total", "Questions that nobody could answer.", c.unavailable.load());
  out.counter("digd_fleet_homes_refused_total", "Questions beyond the limit.", c.refused.load());
  out.gauge("digd_fleet_homes_waiting", "Questions without an answer yet.", c.waiting.load());
  out.counter("digd_fleet_homes_lost_total", "Runs that another daemon took over.", c.moved_away.load());
  out.counter("digd_fleet_restored_entries_total", "Entries that were restored from the stream.",
              c.restored_entries.load());
  out.counter("digd_fleet_failed_restores_total", "Runs that could not be restored.", c.failed_restores.load());
}

void write_fleet(prometheus_text& out, const publisher_counts& c) {
  out.counter("digd_fleet_published_total", "Entries that the fleet's stream has stored.", c.published.load());
  out.counter("digd_fleet_failed_total", "Pieces of the archive that had to be published again.", c.failed.load());
  out.counter("digd_fleet_cut_total", "Entries too large for the stream, published without their texts.", c.cut.load());
  out.counter("digd_fleet_bare_total", "Of these, entries published with nothing but their identifiers.",
              c.bare.load());
  out.counter("digd_fleet_reconnects_total", "Connections to the fleet's stream that were replaced.",
              c.reconnects.load());
  out.counter("digd_fleet_deletions_total", "Deleted runs that were reported to the stream.", c.deletions.load());
  out.gauge("digd_fleet_lag_entries", "Durable entries that the stream does not have yet.", c.lag.load());
}

void write_process(prometheus_text& out, const process_facts& now) {
  out.family("digd_build_info", "gauge", "Always 1; the label has the version.");
  out.sample(std::uint64_t{1}, {{"version", now.version}});
  out.family("digd_operator_mode", "gauge", "1 for the mode of the operator's switch.");
  for (const mode m : {mode::off, mode::observe, mode::shadow, mode::enforce}) {
    out.sample(std::uint64_t{m == now.operator_mode}, {{"mode", to_string(m)}});
  }
  out.gauge("digd_ready", "1 if /readyz answers ready.", now.ready ? 1 : 0);
  out.family("process_start_time_seconds", "gauge", "Start, in Unix seconds.");
  out.sample(static_cast<std::uint64_t>(now.started_s));
  out.gauge("process_resident_memory_bytes", "Resident memory.", now.resident_bytes);
  out.gauge("digd_heap_bytes", "Bytes allocated and not freed.", now.heap_bytes);
  out.gauge("digd_heap_free_bytes", "Bytes freed that the allocator keeps for later.", now.heap_free_bytes);
}

}  // namespace

std::string metrics_text(counts threads, const process_facts& now) {
  prometheus_text out;
  write_messages(out, threads);
  write_latency(out, threads);
  write_judging(out, threads);
  write_runs(out, threads, now);
  write_overload(out, now);
  write_archive(out, now);
  write_webhooks(out, now);
  if (now.otlp != nullptr) write_otlp(out, *now.otlp);
  if (now.hooks != nullptr) write_hooks(out, *now.hooks);
  if (now.fleet != nullptr) write_fleet(out, *now.fleet);
  if (now.homes != nullptr) write_homes(out, *now.homes, now.holds_lease);
  write_process(out, now);
  return out.take();
}

}  // namespace digd::daemon
