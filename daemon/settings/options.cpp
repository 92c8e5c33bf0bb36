// A new option is one entry here; scripts/write-config then rewrites config/digd.toml and config/digd.schema.json.
#include "daemon/settings/options.h"

#include "base/nearest.h"
#include "daemon/access/payload_settings.h"
#include "daemon/settings/fleet_options.h"
#include "daemon/settings/guard_options.h"
#include "daemon/settings/option_kinds.h"
#include "daemon/settings/otlp_export_options.h"
#include "daemon/settings/rule_text.h"
#include "daemon/settings/webhook_options.h"
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
constexpr std::int64_t max_live_events = 200'000'000;
static_assert(max_live_events < graph::max_pending);  // they may all wait at one agent
const std::vector<std::string_view> mode_names = {"off", "observe", "shadow", "enforce"};

void add_listening(table& table) {
  table.push_back(words(
      "listen", applies::at_restart, [](auto& c) -> auto& { return c.listen; },
      "Where to listen: 127.0.0.1:7344, [::1]:7344 or unix:/path. Port 0 means any free port; "
      "<data_dir>/digd.address has the address in use. Without tokens, only loopback and Unix sockets are allowed. "
      "Ignored if systemd passes a socket (digd.socket)."));
  table.push_back(words(
      "operator_listen", applies::at_restart, [](auto& c) -> auto& { return c.operator_listen; },
      "A second address, for operators: unix:/path or an address as in `listen`. It has 64 connections of its own, so "
      "health, metrics and the operator's switch can be reached while clients use all others. Empty: none."));
  table.push_back(words(
      "data_dir", applies::at_restart, [](auto& c) -> auto& { return c.data_dir; },
      "The directory of the archive. digd creates it if it is missing, with access for its owner only. Empty: "
      "$STATE_DIRECTORY (set by systemd), else $XDG_STATE_HOME/digd, else ~/.local/state/digd."));
  table.push_back(whole_number(
      "threads", 0, config::max_threads, applies::at_restart, [](auto& c) -> auto& { return c.threads; },
      "Engine threads; each run belongs to one of them. 0: two, or one on a machine with one core."));
  table.push_back(yes_or_no(
      "archive", applies::at_restart, [](auto& c) -> auto& { return c.archive; },
      "Keep every message on disk. Off: nothing is durable, digd acknowledges every message at once, and a restart "
      "forgets all runs."));
  table.push_back(list(
      "hosts", applies::at_restart, [](auto& c) -> auto& { return c.hosts; },
      "Values accepted in Host, with port, in addition to the loopback names with digd's port. This keeps web pages "
      "of other sites from talking to the daemon. A Unix socket accepts any."));
  table.push_back(list(
      "origins", applies::at_restart, [](auto& c) -> auto& { return c.origins; },
      "Origins accepted from browsers, in addition to this host's own. Example: https://watch.example.org."));
}

void add_access(table& table) {
  table.push_back(words(
      "tokens", applies::at_once, [](auto& c) -> auto& { return c.tokens; },
      "A file of bearer tokens and their rights (docs/security.md; `digctl token` makes tokens). Every request "
      "except /healthz then needs a token. Read again on reload. Empty: no tokens, and access from this machine "
      "only."));
  table.push_back(list(
      "unix_users", applies::to_new_connections, [](auto& c) -> auto& { return c.unix_users; },
      "Users, by name or number, who may connect to a Unix socket in addition to its owner and root. If any are "
      "listed, the socket's file is open to all users, and digd asks the kernel who connects."));
}

void add_tls(table& table) {
  table.push_back(words(
      "tls.certificate", applies::to_new_connections, [](auto& c) -> auto& { return c.tls.certificate; },
      "The certificate chain, PEM. With it, the TCP port accepts only TLS (1.2 and later). Read again on reload; "
      "turning TLS on or off needs a restart."));
  table.push_back(words(
      "tls.key", applies::to_new_connections, [](auto& c) -> auto& { return c.tls.key; },
      "The certificate's private key, PEM."));
  table.push_back(words(
      "tls.client_ca", applies::to_new_connections, [](auto& c) -> auto& { return c.tls.client_ca; },
      "Certificate authorities, PEM. A client must show a certificate that one of them signed. Empty: clients need "
      "no certificate."));
}

void add_payloads(table& table) {
  table.push_back(named(
      "payloads.keep", {"full", "digest", "none"}, applies::to_new_runs, payload_keeping_from,
      [](auto& c) -> auto& { return c.payloads.keep; },
      "full: payloads as sent. digest: their SHA-256 and length. none: no payloads."));
  table.push_back(list(
      "payloads.redact", applies::to_new_runs, [](auto& c) -> auto& { return c.payloads.redact; },
      "Regular expressions (RE2). Text that matches in a payload, an error, a reason or the metrics of a run is "
      "replaced by [redacted]."));
  table.push_back(whole_number(
      "payloads.search_bytes", 0, 1LL << 50, applies::at_restart,
      [](auto& c) -> auto& { return c.payloads.search_bytes; },
      "Search what agents wrote: bytes of the index search.db, which holds a copy of texts of payloads. Beyond that, "
      "the oldest run leaves the index. 0: no index, and digd deletes the one of an earlier start."));
}

void add_contract(table& table) {
  table.push_back(whole_number(
      "verdict_deadline_ms", 1, 60'000, applies::to_new_runs, [](auto& c) -> auto& { return c.verdict_deadline_ms; },
      "How long a client waits for a verdict before it delivers the message unchanged. digd sends the value in "
      "welcome; the client applies it. Milliseconds."));
  table.push_back(whole_number(
      "credits", 1, 65'536, applies::to_new_runs, [](auto& c) -> auto& { return c.credits; },
      "How many messages a session may be ahead of what is durable. Beyond that, digd does not read the client "
      "until the disk has caught up."));
  table.push_back(whole_number(
      "runs", 1, 1'000'000, applies::to_new_runs, [](auto& c) -> auto& { return c.runs; },
      "Open runs at the same time. Beyond that, digd refuses new runs with over_limit."));
}

void add_canary(table& table) {
  table.push_back(share(
      "enforce_share", applies::to_new_runs, [](auto& c) -> auto& { return c.enforce_share; },
      "A canary: the share of runs that digd enforces among those whose hello asks for shadow or names no mode. The "
      "others stay in shadow. A hash of the run's id decides. A hello that asks for off, observe or enforce gets "
      "that mode. caps.mode and the operator's switch override both. `digctl pilot` compares the two groups "
      "(docs/pilot.md). 0: no canary."));
}

void add_bytes(table& table) {
  table.push_back(whole_number(
      "run_bytes", 0, 1LL << 60, applies::to_new_runs, [](auto& c) -> auto& { return c.run_bytes; },
      "Approximate bytes that one run may have in the archive. over_limit.run_bytes is the policy beyond that. 0: "
      "no limit."));
}

void add_retention(table& table) {
  constexpr std::int64_t century_days = 36'500, thousand_tebibytes = 1LL << 60;
  table.push_back(whole_number(
      "retention.days", 0, century_days, applies::at_once, [](auto& c) -> auto& { return c.retention.days; },
      "digd deletes a run this many days after it ended. 0: never."));
  table.push_back(whole_number(
      "retention.idle_days", 0, century_days, applies::at_once, [](auto& c) -> auto& { return c.retention.idle_days; },
      "digd deletes a run that has not ended if no message came for this many days and no client is connected. Its "
      "system has probably crashed. 0: never."));
  table.push_back(whole_number(
      "retention.bytes", 0, thousand_tebibytes, applies::at_once, [](auto& c) -> auto& { return c.retention.bytes; },
      "While the used part of the archive file is larger than this, digd deletes the run that ended first. It never "
      "deletes open runs for size. Bytes; 0: no limit."));
}

void add_log(table& table) {
  table.push_back(choice(
      "log.level", {"error", "warn", "info", "debug"}, applies::at_once, [](auto& c) -> auto& { return c.log.level; },
      "The lowest severity that is logged."));
  table.push_back(choice(
      "log.format", {"text", "json"}, applies::at_restart, [](auto& c) -> auto& { return c.log.format; },
      "Plain text lines, or one JSON object a line."));
}

void add_connections(table& table) {
  table.push_back(whole_number(
      "connections.most", 1, 1'000'000, applies::to_new_connections, [](auto& c) -> auto& { return c.connections.max; },
      "Connections open at the same time; digd closes a further one without an answer. The limit on open files "
      "(LimitNOFILE) must be larger."));
  table.push_back(whole_number(
      "connections.max_per_peer", 0, 1'000'000, applies::to_new_connections,
      [](auto& c) -> auto& { return c.connections.max_per_peer; },
      "Of these, the connections of one peer: an IP address (IPv6: its first 64 bits), or a user of a Unix socket. 0: "
      "half of `most` for an address of another machine, no limit on this machine."));
  table.push_back(whole_number(
      "connections.idle_ms", 1'000, week_ms, applies::to_new_connections,
      [](auto& c) -> auto& { return c.connections.idle_ms; },
      "digd closes a connection that sends nothing for this long, not even a pong. Milliseconds."));
  table.push_back(whole_number(
      "connections.queue_frames", 16, 10'000'000, applies::to_new_connections,
      [](auto& c) -> auto& { return c.connections.queue_frames; },
      "Frames that may wait to be written to one client. Beyond that, digd closes the connection with 4408, so that "
      "no one else waits for a client that does not read."));
  table.push_back(whole_number(
      "connections.queue_bytes", 65'536, 1LL << 32, applies::to_new_connections,
      [](auto& c) -> auto& { return c.connections.queue_bytes; },
      "The same in bytes; whichever limit is reached first."));
}

void add_quiet(table& table) {
  table.push_back(whole_number(
      "connections.quiet_ms", 0, 365LL * 24 * 3600 * 1000, applies::to_new_connections,
      [](auto& c) -> auto& { return c.connections.quiet_ms; },
      "digd closes a session with 4410 if it sends no message for this long, even if its connection is alive. The "
      "session may come back. Milliseconds; 0: never."));
  table.push_back(whole_number(
      "connections.memory_bytes", 0, 1LL << 60, applies::at_once,
      [](auto& c) -> auto& { return c.connections.memory_bytes; },
      "What all connections may make digd hold before it has handled it: unfinished requests and messages, and "
      "messages that wait. A token may hold half, a run or a connection a quarter, and what no token or hello has "
      "allowed yet an eighth. Beyond that, digd closes the heaviest connection. 0: a quarter of overload.memory_bytes, "
      "at least 64 MiB."));
}

void add_hooks(table& table) {
  table.push_back(list(
      "hooks.transcript_roots", applies::at_restart, [](auto& c) -> auto& { return c.transcript_roots; },
      "Folders with transcripts of coding agents, such as /home/dev/.claude/projects. For HTTP hooks, digd reads usage "
      "from files below them, never through links. Empty: digd reads no transcripts; `digctl hook` does."));
}

void add_over_limit(table& table) {
  const std::vector<std::string_view> three = {"refuse", "observe", "gap"}, two = {"refuse", "observe"};
  for (std::size_t i = 0; i < limit_policies::count; ++i) {
    const auto id = static_cast<limit_id>(i);
    table.push_back(named(
        "over_limit." + std::string(to_string(id)), limit_policies::allows(id, limit_policy::gap) ? three : two,
        applies::to_new_runs, policy_from, [id](auto& c) -> auto& { return c.policy.defaults.over_limit.of(id); },
        "Beyond limits." + std::string(to_string(id)) + '.'));
  }
  table.push_back(named(
      "over_limit.run_bytes", two, applies::to_new_runs, policy_from, [](auto& c) -> auto& { return c.over_run_bytes; },
      "Beyond run_bytes. With observe, digd no longer keeps the run's payloads."));
}

void add_overload(table& table) {
  constexpr std::int64_t max_bytes = 1LL << 60;
  constexpr applies when = applies::at_once;
  table.push_back(whole_number(
      "overload.memory_bytes", 0, max_bytes, when, [](auto& c) -> auto& { return c.overload.memory_bytes; },
      "Resident memory of the process, in bytes. 0: the limit of its cgroup, or the machine's memory."));
  table.push_back(whole_number(
      "overload.archive_bytes", 0, max_bytes, when, [](auto& c) -> auto& { return c.overload.archive_bytes; },
      "Size of the archive file and its log, in bytes. Only no_new_runs and refuse apply to it. Set retention.bytes "
      "lower, so that runs are deleted in time. 0: not watched."));
  const auto percent = [&](std::string name, auto field, std::string meaning) {
    table.push_back(whole_number("overload." + std::move(name), 0, 100, when, field, std::move(meaning)));
  };
  percent(
      "no_new_runs", [](auto& c) -> auto& { return c.overload.no_new_runs; }, "digd refuses new runs with over_limit.");
  percent(
      "shrink_credits", [](auto& c) -> auto& { return c.overload.shrink_credits; },
      "digd reads a session only while it is at most a sixteenth of its credits ahead of the disk.");
  percent(
      "observe", [](auto& c) -> auto& { return c.overload.observe; },
      "Twice a second, digd finds the token that holds most memory. It stops judging this token's heaviest runs and "
      "frees their graphs, or closes its heaviest connections. Events of such a run are delivered unchanged, and "
      "still archived.");
  percent(
      "refuse", [](auto& c) -> auto& { return c.overload.refuse; },
      "digd refuses messages with over_limit, except run_ended. Clients then deliver unchanged.");
}

void add_otlp(table& table) {
  constexpr std::int64_t day_ms = 24LL * 3600 * 1000, thousand_gibibytes = 1LL << 40;
  const auto add = [&](const char* name, auto field, std::int64_t min_value, std::int64_t max_value,
                       const char* meaning) {
    table.push_back(whole_number(
        std::string("otlp.") + name, min_value, max_value, applies::at_restart,
        [=](auto& c) -> auto& { return c.otlp.*field; }, meaning));
  };
  add("body_bytes", &otlp_settings::body_bytes, 4'096, 1 << 28, "Bytes of a request, as sent. Beyond: 413.");
  add("unpacked_bytes", &otlp_settings::unpacked_bytes, 4'096, 1 << 30,
      "Bytes that a compressed request may unpack to. Beyond: 413, as soon as the limit is reached.");
  add("settle_ms", &otlp_settings::settle_ms, 0, day_ms,
      "digd judges a run with complete spans if no further span comes for this long. Milliseconds.");
  add("wait_ms", &otlp_settings::wait_ms, 100, day_ms,
      "The longest time that a span waits for its parent and the rest of its run. After that, digd judges the spans "
      "that it has. A run of several traces waits this long for the next trace. Milliseconds.");
  add("late_ms", &otlp_settings::late_ms, 100, 7 * day_ms,
      "A run ends if no span comes for this long. digd rejects spans that come later. Milliseconds.");
  add("spans", &otlp_settings::spans, 100, thousand_million,
      "Spans held for runs that have not ended. Beyond: 503, and the run whose first span came first ends.");
  add("run_spans", &otlp_settings::run_spans, 100, 10'000'000,
      "The same for one run. Beyond that, digd rejects its spans.");
  add("held_bytes", &otlp_settings::held_bytes, 1 << 20, thousand_gibibytes,
      "Bytes of the requests with spans of these runs, on disk and in memory. Beyond: as for spans.");
}

std::string returning_rules() {  // "a, b and c": those whose healing makes one agent act again
  std::string out;
  for (const rule* r : failure_rules()) {
    if (r->traits.returns) out.append(out.empty() ? "" : ", ").append(to_string(r->id));
  }
  if (const std::size_t last = out.rfind(", "); last != std::string::npos) out.replace(last, 2, " and ");
  return out;
}

void add_run_defaults(table& table) {
  table.push_back(named(
      "defaults.mode", mode_names, applies::to_new_runs, mode_from,
      [](auto& c) -> auto& { return c.policy.defaults.mode; },
      "off: digd judges nothing. observe: it reports detections. shadow: it also reports what it would have done. "
      "enforce: it heals."));
  table.push_back(named(
      "defaults.clock", {"wall", "trace"}, applies::to_new_runs, clock_from,
      [](auto& c) -> auto& { return c.policy.defaults.clock; },
      "The clock for windows. wall: the time of arrival. trace: the messages' own ts."));
  table.push_back(whole_number(
      "defaults.budget", 0, thousand_million, applies::to_new_runs,
      [](auto& c) -> auto& { return c.policy.defaults.budget; },
      "Healings in a run, over all rules. Every blocked event or window that is healed counts as one."));
  table.push_back(whole_number(
      "defaults.max_returns_per_agent", 0, thousand_million, applies::to_new_runs,
      [](auto& c) -> auto& { return c.policy.defaults.max_returns_per_agent; },
      "How often " + returning_rules() +
          " together may make the same agent act again in a run. Beyond that, digd only reports the detection."));
}

void add_rule(table& table, const rule& r) {
  const std::string at = "rules." + std::string(to_string(r.id)) + '.';
  const rule_id id = r.id;
  constexpr applies when = applies::to_new_runs;
  table.push_back(named(
      at + "mode", mode_names, when, mode_from, [id](auto& c) -> auto& { return c.policy.defaults.of(id).mode; },
      "The effective mode is the weakest of this one, the run's mode and the operator's switch."));
  if (r.traits.kinds) {
    table.push_back(list(
        at + "kinds", when, [id](auto& c) -> auto& { return c.policy.defaults.of(id).kinds; },
        "The rule judges only events of these kinds. Empty: all."));
  }
  table.push_back(list(
      at + "except", when, [id](auto& c) -> auto& { return c.policy.defaults.of(id).except; },
      "Agents for which the rule only reports and never heals. They are compared with the detection's agent; if it "
      "has none, with the author of its event. `digctl pilot --fine` writes this option."));
  if (r.traits.has_window()) {
    table.push_back(whole_number(
        at + "window_ms", 0, week_ms, when, [id](auto& c) -> auto& { return c.policy.defaults.of(id).window_ms; },
        "How long the condition must hold without interruption. Milliseconds."));
  }
  if (r.traits.has_attempts()) {
    table.push_back(whole_number(
        at + "max_attempts", 0, thousand_million, when,
        [id](auto& c) -> auto& { return c.policy.defaults.of(id).max_attempts; },
        r.traits.attempts == scope::event ? "Healings for each event; after that, the rule only detects."
                                          : "Healings in each run; after that, the rule only detects."));
  }
  if (r.traits.reroutes) {
    table.push_back(whole_number(
        at + "max_reroutes", 0, thousand_million, when,
        [id](auto& c) -> auto& { return c.policy.defaults.of(id).max_reroutes; },
        "Reroutes of an event that are allowed before the rule fires."));
  }
  if (r.traits.repeated) {
    table.push_back(yes_or_no(
        at + "skip_repeated", when, [id](auto& c) -> auto& { return c.policy.defaults.of(id).skip_repeated; },
        "Repeated work does not count as unresolved: work derived from work that another activation had consumed "
        "before, or from repeated work alone."));
  }
  option text = words(
      at + "text", when, [id](auto& c) -> auto& { return c.policy.defaults.of(id).text; },
      "The text for agents, in place of the rule's own. `digctl rules` lists the {placeholders}. Empty: the rule's "
      "own text.");
  text.set = [take = std::move(text.set), id](const toml::node& v, config& c) {
    std::string wrong = take(v, c);
    return wrong.empty() ? wrong_with_text(rule_of(id), c.policy.defaults.of(id).text) : wrong;
  };
  table.push_back(std::move(text));
}

template <class Add>
void each_limit(Add add_one) {
  add_one("stalled_ms", &limits::stalled_ms, 1, week_ms,
          "An activation without an output for this long no longer counts as active. Milliseconds.");
  add_one("settled_events", &limits::settled_events, 0, thousand_million,
          "Settled events that a run remembers. An older id is unknown to digd.");
  add_one("generators", &limits::generators, 1, 1'000'000,
          "Generators (origins) of an event. Beyond that, cross_lineage_aggregation ignores the event.");
  add_one("judging_work", &limits::judging_work, 1, thousand_million,
          "Ids visited while judging one message. Beyond that, digd delivers the message's remaining events unjudged.");
  add_one("message_bytes", &limits::message_bytes, 1'024, 64 << 20,
          "Bytes of a message. Beyond 16 times this, digd closes the connection.");
  add_one("reorder_ms", &limits::reorder_ms, 0, 60'000,
          "With several sessions: how long a message waits for an id that another session has not named yet. "
          "Milliseconds.");
  add_one("agents", &limits::agents, 1, thousand_million,
          "Agent names that a run may use, including agents that have left.");
  add_one("recipients", &limits::recipients, 1, thousand_million, "Recipients of one event or reroute.");
  add_one("inputs", &limits::inputs, 1, thousand_million, "Inputs of one activation.");
  add_one("live_events", &limits::live_events, 1, max_live_events, "Events that are not settled.");
  add_one("open_activations", &limits::open_activations, 1, thousand_million, "Activations open at once.");
  add_one("sessions", &limits::sessions, 1, 1'000'000, "Sessions of a run.");
}

void add_limits(table& table) {
  each_limit(
      [&](const std::string& name, auto field, std::int64_t min_value, std::int64_t max_value, const char* meaning) {
        table.push_back(whole_number(
            "limits." + name, min_value, max_value, applies::to_new_runs,
            [=](auto& c) -> auto& { return c.policy.defaults.limits.*field; }, meaning));
      });
}

void add_caps(table& table) {
  table.push_back(named(
      "caps.mode", mode_names, applies::to_new_runs, mode_from,
      [](auto& c) -> auto& { return c.policy.strongest_mode; }, "The strongest mode that a hello may ask for."));
  each_limit([&](const std::string& name, auto field, std::int64_t min_value, std::int64_t max_value, const char*) {
    table.push_back(whole_number(
        "caps." + name, min_value, max_value, applies::to_new_runs,
        [=](auto& c) -> auto& { return c.policy.caps.*field; }, "The most for limits." + name + '.'));
  });
}

table make_options() {
  table table;
  add_listening(table);
  add_access(table);
  add_contract(table);
  add_canary(table);
  add_bytes(table);
  add_retention(table);
  add_payloads(table);
  add_log(table);
  add_tls(table);
  add_connections(table);
  add_quiet(table);
  add_overload(table);
  add_otlp(table);
  add_hooks(table);
  add_otlp_export_options(table);
  add_fleet_options(table);
  add_run_defaults(table);
  for (const rule* r : failure_rules()) add_rule(table, *r);
  add_guard_options(table);
  add_limits(table);
  add_over_limit(table);
  add_caps(table);
  return table;
}

}  // namespace

const std::vector<option>& options() {
  static const table table = make_options();
  return table;
}

std::string_view section_meaning(std::string_view section) {
  if (section == "tls") return "TLS on the TCP port. A Unix socket has no TLS.";
  if (section == "payloads") {
    return "How much digd keeps of what agents write, in the archive and everything that reads it: feed, webhooks, "
           "reports. Verdicts are the same in any case. Ids, names, kinds and labels are always kept unchanged.";
  }
  if (section == "retention") {
    return "How long runs are kept; by default, forever. digd deletes runs permanently, oldest first, in small "
           "steps between other work, and the file shrinks.";
  }
  if (section == "log")
    return "The log goes to standard error; under systemd, to the journal. It never contains "
           "payloads.";
  if (section == "connections") return "What one client may use of the daemon's resources.";
  if (section == "otlp") return "OpenTelemetry spans, POST /v1/traces: docs/otlp.md.";
  if (section == "otlp_export") return otlp_export_meaning;
  if (section == "fleet") return fleet_meaning;
  if (section == "defaults")
    return "The settings of a run, unless its hello has others. A run keeps the settings "
           "with which it started.";
  if (section == "limits")
    return "The limits of a run, unless its hello has other values. [over_limit] says what "
           "happens beyond them.";
  if (section == "over_limit") {
    return "The policies beyond a limit, unless the hello has others. refuse: digd refuses the message with "
           "over_limit or too_large. observe: digd stops judging the run, delivers its events unchanged and still "
           "archives them. gap: the run forgets what is pending, as if its client had sent gap, and continues. "
           "docs/limits.md has all limits.";
  }
  if (section == "overload") {
    return "When memory or disk runs out, digd reduces load in steps. Each step begins at its percentage of the "
           "limit and ends 5 points below. 0: never.";
  }
  if (section == "caps") return "The largest values that a hello may ask for. digd reduces larger ones to these.";
  if (section == "webhook") {
    return "Webhooks: receivers of interventions and detections by HTTP, with one [[webhook]] for each. By default "
           "there are none. docs/webhooks.md describes the format, and how a receiver checks it.";
  }
  constexpr std::string_view rules = "rules.";
  if (!section.starts_with(rules)) return guard_section_meaning(section);
  for (const rule* r : failure_rules()) {
    if (to_string(r->id) == section.substr(rules.size())) return r->doc.summary;
  }
  return {};
}

const option* nearest_option(std::string_view name) {
  const auto name_of = [](const option& option) -> std::string_view { return option.name; };
  const option* const ours = nearest(name, options(), name_of);
  const option* const of_webhooks = nearest(name, webhook_options(), name_of);
  if (ours == nullptr || of_webhooks == nullptr) return ours == nullptr ? of_webhooks : ours;
  return edit_distance(name, of_webhooks->name) < edit_distance(name, ours->name) ? of_webhooks : ours;
}

}  // namespace digd::daemon
