#include "ingest/protocol/encode.h"

#include <fmt/format.h>

#include <span>
#include <variant>

#include "base/quote.h"
#include "engine/policy.h"
#include "rules/guard_option.h"
#include "rules/rule.h"

namespace digd::ingest {

namespace {

constexpr std::size_t max_unjudged_named = 64;

// Writes an object: braces, commas and names. Close it with `end`. base/json_writer.h would escape every name, which
// costs time in each answer (docs/decisions/0015-one-json-writer.md).
class object {
 public:
  explicit object(std::string& out) : out_(out) {}

  // The caller appends the value.
  std::string& field(std::string_view name) {
    next().append("\"").append(name).append("\":");
    return out_;
  }
  // A name that is data, and needs escapes.
  std::string& key(std::string_view name) {
    append_quoted(next(), name);
    out_ += ':';
    return out_;
  }
  void text(std::string_view name, std::string_view value) { append_quoted(field(name), value); }
  // For words that need no escapes.
  void word(std::string_view name, std::string_view value) { field(name).append("\"").append(value).append("\""); }
  void flag(std::string_view name, bool value) { field(name) += value ? "true" : "false"; }
  void null(std::string_view name) { field(name) += "null"; }
  template <class Number>
  void number(std::string_view name, Number value) {
    const fmt::format_int digits(value);
    field(name).append(digits.data(), digits.size());
  }
  void text_or_null(std::string_view name, const std::optional<std::string>& value) {
    if (value) {
      text(name, *value);
    } else {
      null(name);
    }
  }
  void texts(std::string_view name, std::span<const std::string> values);
  void end() { out_ += before_ == '{' ? "{}" : "}"; }

 private:
  std::string& next() {
    out_ += before_;
    before_ = ',';
    return out_;
  }

  std::string& out_;
  char before_ = '{';
};

// `item` appends an element.
template <class List, class Item>
void append_list(std::string& out, const List& list, Item item) {
  out += '[';
  bool first = true;
  for (const auto& element : list) {
    if (!first) out += ',';
    first = false;
    item(element);
  }
  out += ']';
}

void object::texts(std::string_view name, std::span<const std::string> values) {
  std::string& out = field(name);
  append_list(out, values, [&](const std::string& value) { append_quoted(out, value); });
}

void append_rule(std::string& out, rule_id id, const rule_settings& settings) {
  const rule_traits& traits = rule_of(id).traits;
  object fields(out);
  fields.word("mode", to_string(settings.mode));
  if (traits.kinds) fields.texts("kinds", settings.kinds);
  if (!settings.except.empty()) fields.texts("except", settings.except);
  if (traits.has_window()) fields.number("window_ms", settings.window_ms);
  if (traits.has_attempts()) fields.number("max_attempts", settings.max_attempts);
  if (traits.reroutes) fields.number("max_reroutes", settings.max_reroutes);
  if (settings.skip_repeated) fields.field("skip_repeated") += "true";
  if (!settings.text.empty()) fields.text("text", settings.text);
  fields.end();
}

void append_rules(std::string& out, const run_settings& settings) {
  object rules(out);
  for (std::size_t i = 0; i < failure_rule_count; ++i) {
    append_rule(rules.field(rule_names[i]), static_cast<rule_id>(i), settings.rules[i]);
  }
  rules.end();
}

void append_actions(object& fields, std::string& out, const std::vector<guard_action>& actions) {
  append_list(fields.field("action"), actions, [&](guard_action a) { append_quoted(out, to_string(a)); });
}

void append_value(object& fields, std::string_view name, std::uint64_t value) { fields.number(name, value); }
void append_value(object& fields, std::string_view name, double value) {
  fields.field(name) += fmt::format("{}", value);
}
void append_value(object& fields, std::string_view name, budget_scope value) { fields.word(name, to_string(value)); }
template <class Number>
void append_value(object& fields, std::string_view name, const std::optional<Number>& value) {
  if (value) fields.number(name, *value);
}

template <class Kind>
void append_option(object& fields, std::string_view name, const Kind& kind, const guard_settings& settings) {
  append_value(fields, name, kind.of(settings));
}
void append_option(object& fields, std::string_view name, const cost_limit& limit, const guard_settings& settings) {
  if (const auto& cost = limit.of(settings)) fields.field(name) += decimal_of_millionths(*cost);
}

void append_guard(std::string& out, const rule& guard, const run_settings& settings) {
  const rule_settings& common = settings.of(guard.id);
  object fields(out);
  fields.word("mode", to_string(common.mode));
  if (!common.except.empty()) fields.texts("except", common.except);
  append_actions(fields, out, settings.guards.actions_of(guard.id));
  for (const guard_option& option : guard.options()) {
    std::visit([&](const auto& kind) { append_option(fields, option.name, kind, settings.guards); }, option.kind);
  }
  fields.end();
}

void append_guards(std::string& out, const run_settings& settings) {
  object fields(out);
  for (const rule* guard : guards()) {
    if (guard->is_on(settings.guards)) append_guard(fields.field(to_string(guard->id)), *guard, settings);
  }
  if (is_any_guard_on(settings.guards)) {
    fields.number("hold_ms", settings.guards.hold_ms);
    fields.word("on_timeout", to_string(settings.guards.on_timeout));
  }
  fields.end();
}

void append_limits(std::string& out, const limits& values) {
  object fields(out);
  fields.number("stalled_ms", values.stalled_ms);
  fields.number("settled_events", values.settled_events);
  fields.number("generators", values.generators);
  fields.number("judging_work", values.judging_work);
  fields.number("message_bytes", values.message_bytes);
  fields.number("reorder_ms", values.reorder_ms);
  fields.number("agents", values.agents);
  fields.number("recipients", values.recipients);
  fields.number("inputs", values.inputs);
  fields.number("live_events", values.live_events);
  fields.number("open_activations", values.open_activations);
  fields.number("sessions", values.sessions);
  fields.end();
}

// Omitted if every policy is `refuse`, the default.
void append_over_limit(object& fields, const run_settings& settings) {
  if (settings.over_limit == limit_policies{}) return;
  object policies(fields.field("over_limit"));
  for (std::size_t i = 0; i < limit_policies::count; ++i) {
    const auto id = static_cast<limit_id>(i);
    policies.word(to_string(id), to_string(settings.over_limit.of(id)));
  }
  policies.end();
}

void append_healing(std::string& out, const run_settings& settings) {
  object fields(out);
  fields.number("budget", settings.budget);
  fields.number("max_returns_per_agent", settings.max_returns_per_agent);
  fields.end();
}

std::string_view name_of(witness::edge_kind kind) {
  switch (kind) {
    case witness::edge_kind::generated: return "generated";
    case witness::edge_kind::delivered: return "delivered";
    case witness::edge_kind::pending: break;
  }
  return "pending";
}

// The agent of an event without a source is null.
void append_nodes(std::string& out, std::span<const witness::node> nodes) {
  append_list(out, nodes, [&](const witness::node& node) {
    object fields(out);
    fields.text("id", node.id);
    if (node.agent.empty()) {
      fields.null("agent");
    } else {
      fields.text("agent", node.agent);
    }
    fields.end();
  });
}

void append_witness(std::string& out, const witness& given_witness) {
  object fields(out);
  append_nodes(fields.field("activations"), given_witness.activations);
  append_nodes(fields.field("events"), given_witness.events);
  append_list(fields.field("edges"), given_witness.edges, [&](const witness::edge& edge) {
    object object(out);
    object.word("kind", name_of(edge.kind));
    object.text("from", edge.from);
    object.text("to", edge.to);
    if (edge.label != reaction::none) object.word("label", to_string(edge.label));
    object.end();
  });
  if (given_witness.truncated) fields.flag("truncated", true);
  fields.end();
}

// The detections that led to this verdict or intervention; nothing if there are none.
void append_detections(object& fields, std::span<const std::uint32_t> which, const answer& from, bool with_witness) {
  if (which.empty()) return;
  std::string& out = fields.field("detections");
  append_list(out, which, [&](std::uint32_t i) { encode_detection(out, from.detections[i], with_witness); });
}

// Whether the verdict only delivers the event. Most verdicts do.
bool is_plain_delivery(const verdict& verdict) {
  return verdict.action == action::deliver && verdict.inject.empty() && verdict.detections.empty();
}

// Returns the quoted id, which is in `out`.
std::string_view append_plain_delivery(std::string& out, std::string_view event) {
  const std::size_t begin = out.append(R"({"event":)").size();
  append_quoted(out, event);
  const std::size_t end = out.size();
  out += R"(,"action":"deliver"})";
  return std::string_view(out).substr(begin, end - begin);
}

void append_verdict(std::string& out, const verdict& verdict, const answer& from, bool with_witness) {
  object fields(out);
  fields.text("event", verdict.event);
  fields.word("action", to_string(verdict.action));
  if (verdict.action == action::reroute) fields.texts("recipients", verdict.recipients);
  if (verdict.action == action::hold) {
    fields.field("hold").append("\"hold:").append(std::to_string(verdict.hold)).append("\"");
    fields.number("hold_ms", verdict.hold_ms);
    fields.word("on_timeout", to_string(verdict.on_timeout));
  }
  if (!verdict.inject.empty()) fields.text("inject", verdict.inject);
  append_detections(fields, verdict.detections, from, with_witness);
  fields.end();
}

void append_capabilities(std::string& out, const capabilities& able) {
  object fields(out);
  fields.flag("inject", able.inject);
  fields.flag("reroute", able.reroute);
  fields.flag("create", able.create);
  if (able.hold) fields.flag("hold", true);
  if (able.cancel) fields.flag("cancel", true);
  fields.end();
}

}  // namespace

void encode_welcome(std::string& out, const welcome_facts& facts, const run_settings& settings) {
  object fields(out);
  fields.word("type", "welcome");
  fields.number("protocol", 1);
  fields.text("run", facts.run);
  fields.text("session", facts.session);
  fields.number("acked_seq", facts.acked_seq);
  fields.word("mode", to_string(effective_mode(settings, facts.unjudged)));
  if (facts.unjudged) fields.word("unjudged", to_string(*facts.unjudged));
  append_rules(fields.field("rules"), settings);
  append_limits(fields.field("limits"), settings.limits);
  append_over_limit(fields, settings);
  append_healing(fields.field("healing"), settings);
  append_guards(fields.field("guards"), settings);
  fields.number("verdict_deadline_ms", facts.verdict_deadline_ms);
  fields.number("credits", facts.credits);
  fields.end();
}

// In large pieces: an agent waits for this frame, and most of it never changes.
void encode_verdicts(std::string& out, std::string& event_ids, std::uint64_t seq, const answer& from,
                     bool with_witness) {
  bool only_deliveries = true;
  const fmt::format_int digits(seq);
  out.append(R"({"type":"verdicts","seq":)").append(digits.data(), digits.size()).append(R"(,"verdicts":)");
  append_list(out, from.verdicts, [&](const verdict& verdict) {
    if (!is_plain_delivery(verdict)) {
      only_deliveries = false;
      append_verdict(out, verdict, from, with_witness);
      return;
    }
    const std::string_view id = append_plain_delivery(out, verdict.event);
    event_ids.append(event_ids.empty() ? "[" : ",").append(id);
  });
  out += '}';
  if (!only_deliveries) {
    event_ids.clear();
  } else if (!event_ids.empty()) {
    event_ids += ']';
  }
}

void encode_intervention(std::string& out, const intervention& intervention, const answer& from, bool with_witness) {
  object fields(out);
  fields.word("type", "intervention");
  fields.text("id", intervention.id);
  fields.word("action", to_string(intervention.action));
  if (intervention.event) fields.text("event", *intervention.event);
  if (intervention.action == action::cancel) {
    fields.texts("activations", intervention.activations);
  } else {
    fields.texts("recipients", intervention.recipients);
  }
  if (!intervention.inject.empty()) fields.text("inject", intervention.inject);
  append_detections(fields, intervention.detections, from, with_witness);
  fields.end();
}

void encode_ack(std::string& out, std::uint64_t seq) {
  object fields(out);
  fields.word("type", "ack");
  fields.number("seq", seq);
  fields.end();
}

void encode_refused(std::string& out, const refusal_note& note, std::uint64_t seq) {
  object fields(out);
  fields.word("type", "refused");
  fields.number("seq", seq);
  fields.word("code", to_string(note.code));
  if (!note.field.empty()) fields.text("field", note.field);
  fields.text("message", note.text);
  fields.end();
}

void encode_own_line(std::string& out, const own_line& line) {
  object fields(out);
  fields.word("type", to_string(line.kind));
  if (line.kind == record_kind::operator_mode) fields.word("mode", to_string(line.strongest));
  if (line.kind == record_kind::limit) {
    fields.word("limit", to_string(line.limit));
    if (line.policy) fields.word("policy", to_string(*line.policy));
    if (line.resumes) fields.word("policy", resume_word);
  }
  if (line.kind == record_kind::semantics) fields.number("version", line.version);
  if (line.kind == record_kind::decision) {
    fields.text("hold", "hold:" + std::to_string(line.hold));
    fields.word("decision", to_string(line.decision));
    if (!line.text.empty()) fields.text("text", line.text);
    if (!line.by.empty()) fields.text("by", line.by);
  }
  fields.number("ts", line.ts);
  fields.end();
}

void encode_judging_resumed(std::string& out, milliseconds ts) {
  object fields(out);
  fields.word("type", "judging_resumed");
  fields.number("ts", ts);
  fields.end();
}

void encode_unjudged(std::string& out, std::span<const std::string> events, milliseconds ts) {
  object fields(out);
  fields.word("type", to_string(record_kind::limit));
  fields.word("limit", to_string(limit_id::judging_work));
  fields.word("policy", "deliver");
  fields.number("unjudged", events.size());
  fields.texts("events", events.first(std::min(events.size(), max_unjudged_named)));
  fields.number("ts", ts);
  fields.end();
}

void encode_error(std::string& out, const refusal_note& note, std::uint64_t seq, bool fatal) {
  object fields(out);
  fields.word("type", "error");
  fields.word("code", to_string(note.code));
  if (seq != 0) fields.number("seq", seq);
  if (!note.field.empty()) fields.text("field", note.field);
  fields.text("message", note.text);
  fields.flag("fatal", fatal);
  fields.end();
}

void encode_moved(std::string& out, std::string_view to) {
  object fields(out);
  fields.word("type", "error");
  fields.word("code", to_string(refusal::moved));
  fields.text("message", "another daemon of the fleet has the run");
  fields.text("to", to);
  fields.flag("fatal", true);
  fields.end();
}

void encode_detection(std::string& out, const detection& detection, bool with_witness) {
  object fields(out);
  fields.word("rule", to_string(detection.rule));
  fields.word("severity", to_string(detection.severity));
  fields.text_or_null("session", detection.session);
  if (detection.at) {
    fields.number("at", *detection.at);
  } else {
    fields.null("at");
  }
  fields.number("ts", detection.ts);
  fields.text_or_null("event", detection.event);
  fields.text_or_null("agent", detection.agent);
  fields.texts("evidence", detection.evidence);
  if (detection.evidence_total > detection.evidence.size()) fields.number("evidence_total", detection.evidence_total);
  fields.flag("healed", detection.healed);
  if (detection.healing == action::none) {
    fields.null("healing");
  } else {
    fields.word("healing", to_string(detection.healing));
  }
  if (detection.cause == cause::none) {
    fields.null("cause");
  } else {
    fields.word("cause", to_string(detection.cause));
  }
  if (detection.guard) {
    fields.word("action", to_string(*detection.guard));
    append_list(fields.field("limits"), detection.limits, [&](std::string_view limit) { append_quoted(out, limit); });
  }
  fields.text("reason", detection.reason);
  if (with_witness) append_witness(fields.field("witness"), detection.witness);
  fields.end();
}

void encode_guards(std::string& out, const run_settings& settings) { append_guards(out, settings); }

void encode_trace_hello(std::string& out, const hello& original, const run_settings& settings) {
  object fields(out);
  fields.word("type", "hello");
  fields.number("protocol", 1);
  fields.text("run", original.run);
  fields.text("session", original.session);
  if (original.agents) fields.texts("agents", *original.agents);
  fields.word("mode", to_string(settings.mode));
  fields.word("clock", to_string(clock_kind::trace));
  // With the daemon's own stamps, everything due by a message's time happened before digd checked that message.
  if (settings.clock == clock_kind::wall || settings.stamped) fields.flag("stamped", true);
  fields.number("semantics", semantics_version);
  append_rules(fields.field("rules"), settings);
  append_healing(fields.field("healing"), settings);
  if (is_any_guard_on(settings.guards)) append_guards(fields.field("guards"), settings);
  append_limits(fields.field("limits"), settings.limits);
  append_over_limit(fields, settings);
  append_capabilities(fields.field("capabilities"), original.able);
  fields.flag("witness", original.witness);
  object labels(fields.field("labels"));
  for (const auto& [name, value] : original.labels) {
    append_quoted(labels.key(name), value);
  }
  labels.end();
  fields.end();
}

}  // namespace digd::ingest
