// The table of options. A new option is one line here; config/digd.toml and config/digd.schema.json are then written
// anew with `digd --print-config` and `digd --print-schema` (scripts/write-config).
#include "daemon/option.h"
#include "daemon/option_kinds.h"
#include "daemon/access/payload_settings.h"
#include "daemon/rule_text.h"
#include "daemon/webhook/webhook_options.h"
#include "engine/nearest.h"
#include "graph/nodes.h"
#include "rules/rule.h"

namespace digd::daemon {

namespace {

using kinds::choice;
using kinds::list;
using kinds::named;
using kinds::share;
using kinds::whole_number;
using kinds::words;
using kinds::yes_or_no;
using table = std::vector<option>;

constexpr std::int64_t week_ms = 7LL * 24 * 3600 * 1000;
constexpr std::int64_t thousand_million = 1'000'000'000;
constexpr std::int64_t most_live_events = 200'000'000;
static_assert(most_live_events < graph::most_pending);  // they may all wait at one agent
const std::vector<std::string_view> mode_names = {"off", "observe", "shadow", "enforce"};

void add_door(table& all) {
  all.push_back(words(
      "listen", applies::at_restart, [](auto& c) -> auto& { return c.listen; },
      "Where to listen: 127.0.0.1:7344, [::1]:7344 or unix:/path. Port 0 takes any that is free; "
      "<data_dir>/digd.address says which. Loopback and Unix sockets only, as long as no tokens are "
      "configured. Ignored when a socket is handed over (digd.socket)."));
  all.push_back(words(
      "data_dir", applies::at_restart, [](auto& c) -> auto& { return c.data_dir; },
      "Where the archive is kept; made if it is missing, for its owner alone. Empty: $STATE_DIRECTORY (set by systemd), else $XDG_STATE_HOME/digd, "
      "else ~/.local/state/digd."));
  all.push_back(whole_number(
      "threads", 0, config::most_threads, applies::at_restart,
      [](auto& c) -> auto& { return c.threads; },
      "Engine threads; a run belongs to one of them. 0: two, or one where there is one core."));
  all.push_back(yes_or_no(
      "archive", applies::at_restart, [](auto& c) -> auto& { return c.archive; },
      "Keep every message on disk. Off: nothing is durable, every message is acknowledged at once, "
      "and a restart forgets all runs."));
  all.push_back(list(
      "hosts", applies::at_restart, [](auto& c) -> auto& { return c.hosts; },
      "Names accepted in Host, with their port, beside this machine's loopback names with ours: a "
      "web page of somebody else's cannot talk to the daemon. A Unix socket accepts any."));
  all.push_back(list(
      "origins", applies::at_restart, [](auto& c) -> auto& { return c.origins; },
      "Origins accepted where a browser sends one, beside this host's own: https://watch.example.org."));
}

void add_access(table& all) {
  all.push_back(words(
      "tokens", applies::at_once, [](auto& c) -> auto& { return c.tokens; },
      "A file of bearer tokens: who may do what (docs/security.md; `digctl token` makes them). Every "
      "request but /healthz then wants one. Read again on reload. Empty: no tokens, and only this machine."));
  all.push_back(list(
      "unix_users", applies::to_new_connections, [](auto& c) -> auto& { return c.unix_users; },
      "Users, by name or number, who may connect to a Unix socket beside its owner and root. With any, "
      "the socket's file is open to all, and who connects is asked of the kernel."));
}

void add_tls(table& all) {
  all.push_back(words(
      "tls.certificate", applies::to_new_connections, [](auto& c) -> auto& { return c.tls.certificate; },
      "The chain, PEM: what listens on TCP then speaks TLS (1.2 and later) and nothing else. Read again "
      "on reload; from none to some, or back, needs a restart."));
  all.push_back(words(
      "tls.key", applies::to_new_connections, [](auto& c) -> auto& { return c.tls.key; },
      "The certificate's private key, PEM."));
  all.push_back(words(
      "tls.client_ca", applies::to_new_connections, [](auto& c) -> auto& { return c.tls.client_ca; },
      "Authorities, PEM: a client has to show a certificate that one of them signed. Empty: clients "
      "show none."));
}

void add_payloads(table& all) {
  all.push_back(named(
      "payloads.keep", {"full", "digest", "none"}, applies::to_new_runs, payload_keeping_from,
      [](auto& c) -> auto& { return c.payloads.keep; },
      "full: as sent. digest: their SHA-256 and length. none: left out."));
  all.push_back(list(
      "payloads.redact", applies::to_new_runs, [](auto& c) -> auto& { return c.payloads.redact; },
      "Regular expressions (RE2); what matches in a payload, an error or a reason is kept as [redacted]."));
}

void add_contract(table& all) {
  all.push_back(whole_number(
      "verdict_deadline_ms", 1, 60'000, applies::to_new_runs,
      [](auto& c) -> auto& { return c.verdict_deadline_ms; },
      "How long a client waits for a verdict before it delivers as is; told in welcome, kept by the "
      "client. Milliseconds."));
  all.push_back(whole_number(
      "credits", 1, 65'536, applies::to_new_runs, [](auto& c) -> auto& { return c.credits; },
      "How many messages a session may be ahead of what is durable. A client that goes further "
      "is not read until the disk has caught up."));
  all.push_back(whole_number(
      "runs", 1, 1'000'000, applies::to_new_runs, [](auto& c) -> auto& { return c.runs; },
      "Runs that have not ended, at once. One more is refused with over_limit."));
}

void add_canary(table& all) {
  all.push_back(share(
      "enforce_share", applies::to_new_runs, [](auto& c) -> auto& { return c.enforce_share; },
      "A canary: of the runs whose hello asks for shadow or names no mode, this share is enforced and the rest stays in "
      "shadow, chosen by a hash of the run's id. A hello that asks for off, observe or enforce gets that; caps.mode and the "
      "operator's switch win over both. `digctl pilot` compares the two groups (docs/pilot.md). 0: no canary."));
}

void add_bytes(table& all) {
  all.push_back(whole_number(
      "run_bytes", 0, 1LL << 60, applies::to_new_runs, [](auto& c) -> auto& { return c.run_bytes; },
      "Bytes that one run may have in the archive, about; over_limit.run_bytes says what is done "
      "beyond. 0: no limit."));
}

void add_retention(table& all) {
  constexpr std::int64_t century_days = 36'500, thousand_tebibytes = 1LL << 60;
  all.push_back(whole_number(
      "retention.days", 0, century_days, applies::at_once,
      [](auto& c) -> auto& { return c.retention.days; },
      "A run is deleted so many days after it ended. 0: it is kept."));
  all.push_back(whole_number(
      "retention.idle_days", 0, century_days, applies::at_once,
      [](auto& c) -> auto& { return c.retention.idle_days; },
      "A run that has not ended is deleted when nothing was heard of it for so many days and no "
      "client is connected: its system went away without a word. 0: it is kept."));
  all.push_back(whole_number(
      "retention.bytes", 0, thousand_tebibytes, applies::at_once,
      [](auto& c) -> auto& { return c.retention.bytes; },
      "While what is used of the archive file is over so many bytes, the run that ended first is "
      "deleted. Runs that go on are not. 0: no limit."));
}

void add_log(table& all) {
  all.push_back(choice(
      "log.level", {"error", "warn", "info", "debug"}, applies::at_once,
      [](auto& c) -> auto& { return c.log.level; }, "What is said: this and what is graver."));
  all.push_back(choice(
      "log.format", {"text", "json"}, applies::at_restart,
      [](auto& c) -> auto& { return c.log.format; },
      "A line of words, or a JSON object a line; to standard error either way."));
}

void add_connections(table& all) {
  all.push_back(whole_number(
      "connections.most", 1, 1'000'000, applies::to_new_connections,
      [](auto& c) -> auto& { return c.connections.most; },
      "Open at once; one more is closed unanswered. The limit on open files (LimitNOFILE) has "
      "to be larger."));
  all.push_back(whole_number(
      "connections.idle_ms", 1'000, week_ms, applies::to_new_connections,
      [](auto& c) -> auto& { return c.connections.idle_ms; },
      "A connection of which nothing was heard for so long, not even an answer to a ping, is "
      "closed. Milliseconds."));
  all.push_back(whole_number(
      "connections.queue_frames", 16, 10'000'000, applies::to_new_connections,
      [](auto& c) -> auto& { return c.connections.queue_frames; },
      "Frames that wait to be written to one client; one that does not read is closed with 4408, and nobody else waits for it."));
  all.push_back(whole_number(
      "connections.queue_bytes", 65'536, 1LL << 32, applies::to_new_connections,
      [](auto& c) -> auto& { return c.connections.queue_bytes; },
      "The same in bytes; what comes first."));
}

void add_quiet(table& all) {
  all.push_back(whole_number(
      "connections.quiet_ms", 0, 365LL * 24 * 3600 * 1000, applies::to_new_connections,
      [](auto& c) -> auto& { return c.connections.quiet_ms; },
      "A session that sent no message for so long is closed with 4410, though its connection "
      "lives; it may come back. Milliseconds; 0: never."));
}

void add_over_limit(table& all) {
  const std::vector<std::string_view> most = {"refuse", "observe", "gap"}, two = {"refuse", "observe"};
  for (std::size_t i = 0; i < limit_policies::count; ++i) {
    const auto id = static_cast<limit_id>(i);
    all.push_back(named(
        "over_limit." + std::string(to_string(id)), limit_policies::allows(id, limit_policy::gap) ? most : two,
        applies::to_new_runs, policy_from,
        [id](auto& c) -> auto& { return c.policy.defaults.over_limit.of(id); },
        "Beyond limits." + std::string(to_string(id)) + '.'));
  }
  all.push_back(named(
      "over_limit.run_bytes", two, applies::to_new_runs, policy_from,
      [](auto& c) -> auto& { return c.over_run_bytes; },
      "Beyond run_bytes. With observe, payloads are not kept from there on."));
}

void add_overload(table& all) {
  constexpr std::int64_t most_bytes = 1LL << 60;
  constexpr applies when = applies::at_once;
  all.push_back(whole_number(
      "overload.memory_bytes", 0, most_bytes, when, [](auto& c) -> auto& { return c.overload.memory_bytes; },
      "What the process may have resident. 0: the limit of its cgroup, or the machine's memory."));
  all.push_back(whole_number(
      "overload.archive_bytes", 0, most_bytes, when, [](auto& c) -> auto& { return c.overload.archive_bytes; },
      "What the archive file may have, its log included; brings about no_new_runs and refuse. "
      "retention.bytes, below it, deletes in time. 0: not watched."));
  const auto percent = [&](std::string name, auto field, std::string meaning) {
    all.push_back(whole_number("overload." + std::move(name), 0, 100, when, field, std::move(meaning)));
  };
  percent(
      "no_new_runs", [](auto& c) -> auto& { return c.overload.no_new_runs; }, "New runs are refused with over_limit.");
  percent(
      "shrink_credits", [](auto& c) -> auto& { return c.overload.shrink_credits; },
      "Sessions are read on only while they are a sixteenth of their credits ahead of the disk.");
  percent(
      "observe", [](auto& c) -> auto& { return c.overload.observe; },
      "Twice a second, on each engine thread, the run with the largest graph is judged no more: its graph goes, its "
      "events are delivered as they are, and kept.");
  percent(
      "refuse", [](auto& c) -> auto& { return c.overload.refuse; },
      "Messages are refused with over_limit, run_ended excepted; clients go on alone.");
}

void add_otlp(table& all) {
  constexpr std::int64_t day_ms = 24LL * 3600 * 1000, thousand_gibibytes = 1LL << 40;
  const auto add = [&](const char* name, auto field, std::int64_t least, std::int64_t most, const char* meaning) {
    all.push_back(whole_number(
        std::string("otlp.") + name, least, most, applies::at_restart,
        [=](auto& c) -> auto& { return c.otlp.*field; }, meaning));
  };
  add("body_bytes", &otlp_settings::body_bytes, 4'096, 1 << 28, "Bytes of a request, as sent. More: 413.");
  add("unpacked_bytes", &otlp_settings::unpacked_bytes, 4'096, 1 << 30, "Bytes that a packed request may unpack into. More: 413, after so many.");
  add("settle_ms", &otlp_settings::settle_ms, 0, day_ms,
      "A run whose spans are all there is judged when so long nothing more came of it. Milliseconds.");
  add("wait_ms", &otlp_settings::wait_ms, 100, day_ms,
      "The longest that a span waits for its parent and the rest of its run before what is known is judged; a run of "
      "several traces waits so long for the next. Milliseconds.");
  add("late_ms", &otlp_settings::late_ms, 100, 7 * day_ms,
      "A run ends when so long nothing more came of it. Spans that come later are rejected. Milliseconds.");
  add("spans", &otlp_settings::spans, 100, thousand_million, "Spans held of runs that have not ended. Beyond: 503, and the run that was heard of first ends.");
  add("run_spans", &otlp_settings::run_spans, 100, 10'000'000, "The same of one run. Beyond, its spans are rejected.");
  add("held_bytes", &otlp_settings::held_bytes, 1 << 20, thousand_gibibytes, "Bytes of requests that hold spans of such runs, on disk and in memory. Beyond: as with spans.");
}

void add_run_defaults(table& all) {
  all.push_back(named(
      "defaults.mode", mode_names, applies::to_new_runs, mode_from,
      [](auto& c) -> auto& { return c.policy.defaults.how; },
      "off: nothing is judged. observe: detections are kept and shown. shadow: also what would have "
      "been done. enforce: it is done."));
  all.push_back(named(
      "defaults.clock", {"wall", "trace"}, applies::to_new_runs, clock_from,
      [](auto& c) -> auto& { return c.policy.defaults.clock; },
      "What windows are measured by: the time of arrival, or the messages' own ts."));
  all.push_back(whole_number(
      "defaults.budget", 0, thousand_million, applies::to_new_runs,
      [](auto& c) -> auto& { return c.policy.defaults.budget; },
      "Healings a run, of all rules together: every blocked event or window that is healed costs one."));
  all.push_back(whole_number(
      "defaults.max_returns_per_agent", 0, thousand_million, applies::to_new_runs,
      [](auto& c) -> auto& { return c.policy.defaults.max_returns_per_agent; },
      "Healings a run that make the same agent act again: by early_termination, orphaned_event and missing_termination "
      "together. Beyond, the agent is left alone and the detection is only reported."));
}

void add_rule(table& all, const rule& r) {
  const std::string at = "rules." + std::string(to_string(r.id)) + '.';
  const rule_id id = r.id;
  constexpr applies when = applies::to_new_runs;
  all.push_back(named(
      at + "mode", mode_names, when, mode_from,
      [id](auto& c) -> auto& { return c.policy.defaults.of(id).how; },
      "The weakest of this, the run's mode and the operator's switch holds."));
  if (r.options.kinds) {
    all.push_back(list(
        at + "kinds", when, [id](auto& c) -> auto& { return c.policy.defaults.of(id).kinds; },
        "Only events of these kinds are judged. Empty: all."));
  }
  all.push_back(list(
      at + "except", when, [id](auto& c) -> auto& { return c.policy.defaults.of(id).except; },
      "Agents for which the rule only observes: it reports what it finds, and nothing is done. Matched against the "
      "detection's agent, else the agent that its event comes from. `digctl pilot --fine` writes this."));
  if (r.options.window) {
    all.push_back(whole_number(
        at + "window_ms", 0, week_ms, when,
        [id](auto& c) -> auto& { return c.policy.defaults.of(id).window_ms; },
        "How long the condition must hold without a break. Milliseconds."));
  }
  if (r.options.attempts) {
    all.push_back(whole_number(
        at + "max_attempts", 0, thousand_million, when,
        [id](auto& c) -> auto& { return c.policy.defaults.of(id).max_attempts; },
        id == rule_id::orphaned_event ? "Healings an event; then it is only detected."
                                      : "Healings a run; then it is only detected."));
  }
  if (r.options.reroutes) {
    all.push_back(whole_number(
        at + "max_reroutes", 0, thousand_million, when,
        [id](auto& c) -> auto& { return c.policy.defaults.of(id).max_reroutes; },
        "Reroutes of an event that are let pass before the rule fires."));
  }
  option text = words(
      at + "text", when, [id](auto& c) -> auto& { return c.policy.defaults.of(id).text; },
      "What agents are told, in place of the rule's own text; {placeholders} as `digctl rules` lists "
      "them. Empty: the rule's own.");
  text.set = [take = std::move(text.set), id](const toml::node& v, config& c) {
    std::string wrong = take(v, c);
    return wrong.empty() ? wrong_with_text(rule_of(id), c.policy.defaults.of(id).text) : wrong;
  };
  all.push_back(std::move(text));
}

template <class Add>
void each_limit(Add add_one) {
  add_one("stalled_ms", &limits::stalled_ms, 1, week_ms, "An activation that had no output for so long no longer counts as active. Milliseconds.");
  add_one("settled_events", &limits::settled_events, 0, thousand_million, "Settled events a run remembers; an older id is like one never seen.");
  add_one("generators", &limits::generators, 1, 1'000'000, "An event with more generators (origins) is left out of cross_lineage_aggregation.");
  add_one("judging_work", &limits::judging_work, 1, thousand_million, "Ids visited while one message is judged; beyond it the message's remaining events are delivered unjudged.");
  add_one("message_bytes", &limits::message_bytes, 1'024, 64 << 20, "Bytes of a message; beyond 16 times as many the connection is closed.");
  add_one("reorder_ms", &limits::reorder_ms, 0, 60'000, "With several sessions: how long a message waits for an id that another has yet to name. Milliseconds.");
  add_one("agents", &limits::agents, 1, thousand_million, "Agent names a run may use, those that left too.");
  add_one("recipients", &limits::recipients, 1, thousand_million, "Recipients of one event or reroute.");
  add_one("inputs", &limits::inputs, 1, thousand_million, "Inputs of one activation.");
  add_one("live_events", &limits::live_events, 1, most_live_events, "Events that are not settled.");
  add_one("open_activations", &limits::open_activations, 1, thousand_million, "Activations open at once.");
  add_one("sessions", &limits::sessions, 1, 1'000'000, "Sessions of a run.");
}

void add_limits(table& all) {
  each_limit([&](const std::string& name, auto field, std::int64_t least, std::int64_t most, const char* meaning) {
    all.push_back(whole_number(
        "limits." + name, least, most, applies::to_new_runs,
        [=](auto& c) -> auto& { return c.policy.defaults.limits.*field; }, meaning));
  });
}

void add_caps(table& all) {
  all.push_back(named(
      "caps.mode", mode_names, applies::to_new_runs, mode_from,
      [](auto& c) -> auto& { return c.policy.strongest_mode; }, "The strongest mode."));
  each_limit([&](const std::string& name, auto field, std::int64_t least, std::int64_t most, const char*) {
    all.push_back(whole_number(
        "caps." + name, least, most, applies::to_new_runs,
        [=](auto& c) -> auto& { return c.policy.most.*field; }, "The most for limits." + name + '.'));
  });
}

table all_options() {
  table all;
  add_door(all);
  add_access(all);
  add_contract(all);
  add_canary(all);
  add_bytes(all);
  add_retention(all);
  add_payloads(all);
  add_log(all);
  add_tls(all);
  add_connections(all);
  add_quiet(all);
  add_overload(all);
  add_otlp(all);
  add_run_defaults(all);
  for (const rule* r : catalog()) add_rule(all, *r);
  add_limits(all);
  add_over_limit(all);
  add_caps(all);
  return all;
}

}  // namespace

const std::vector<option>& options() {
  static const table all = all_options();
  return all;
}

std::string_view to_string(applies when) {
  constexpr std::string_view names[] = {"at restart", "at once", "to new connections", "to new runs"};
  return names[static_cast<std::size_t>(when)];
}

std::string_view option::section() const {
  const std::size_t dot = name.rfind('.');
  return std::string_view(name).substr(0, dot == std::string::npos ? 0 : dot);
}

std::string_view option::key() const { return std::string_view(name).substr(name.rfind('.') + 1); }

std::string_view section_meaning(std::string_view section) {
  if (section == "tls") return "TLS on the TCP door. A Unix socket has none.";
  if (section == "payloads") {
    return "What is kept of what agents say, in the archive and whatever reads it: feed, webhooks, reports. Verdicts are "
           "the same either way. Ids, names, kinds and labels are kept as they are.";
  }
  if (section == "retention") {
    return "What is kept of runs: all, unless told otherwise. What has to go is deleted for good, the oldest first, in "
           "small steps beside the work; the file shrinks.";
  }
  if (section == "log") return "The log goes to standard error: under systemd, to the journal. Never a payload.";
  if (section == "connections") return "What one client may take of the daemon.";
  if (section == "otlp") return "OpenTelemetry spans, POST /v1/traces: docs/otlp.md.";
  if (section == "defaults") return "What a run starts with where its hello does not say. A run keeps what it started with.";
  if (section == "limits") return "What a run may take where its hello does not say. Beyond: as [over_limit] says.";
  if (section == "over_limit") {
    return "What is done beyond a limit, where a hello does not say. refuse: the message is, with over_limit or too_large. "
           "observe: from then on the run is judged no more; everything is delivered as it is, and kept. gap: the run forgets "
           "what is pending, as if its client had said gap, and goes on. docs/limits.md has all limits.";
  }
  if (section == "overload") {
    return "When memory or disk runs out: the share of the limit, in percent, at which load is taken off, step by step. Each "
           "ends 5 points below. 0: never.";
  }
  if (section == "caps") return "The most that a hello may ask for; what is more is cut to this.";
  if (section == "webhook") {
    return "Webhooks: who is told of interventions and detections by HTTP, one [[webhook]] for each receiver; none, unless "
           "there is one here. docs/webhooks.md says what is sent, and how a receiver checks it.";
  }
  constexpr std::string_view rules = "rules.";
  if (!section.starts_with(rules)) return {};
  for (const rule* r : catalog()) {
    if (to_string(r->id) == section.substr(rules.size())) return r->doc.what;
  }
  return {};
}

const option* nearest_option(std::string_view name) {
  const auto name_of = [](const option& one) -> std::string_view { return one.name; };
  const option* const ours = nearest(name, options(), name_of);
  const option* const of_webhooks = nearest(name, webhook_options(), name_of);
  if (ours == nullptr || of_webhooks == nullptr) return ours == nullptr ? of_webhooks : ours;
  return edit_distance(name, of_webhooks->name) < edit_distance(name, ours->name) ? of_webhooks : ours;
}

}  // namespace digd::daemon
