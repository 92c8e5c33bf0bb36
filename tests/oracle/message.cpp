#include "message.h"

#include <algorithm>
#include <cmath>

namespace oracle {

namespace json = boost::json;

namespace {

// Thrown and caught only in this file: decoding ends at the first invalid field.
struct bad_field {
  std::string name_;
};

std::string checked_id(const json::value& from, const char* name) {
  if (!from.is_string() || from.as_string().empty() || from.as_string().size() > 256) throw bad_field{name};
  return std::string(from.as_string());
}

std::string required_id(const json::object& from, const char* name) {
  const json::value* value = field(from, name);
  if (value == nullptr) throw bad_field{name};
  return checked_id(*value, name);
}

bool optional_bool(const json::object& from, const char* name) {
  const json::value* value = field(from, name);
  if (value == nullptr) return false;
  if (!value->is_bool()) throw bad_field{name};
  return value->as_bool();
}

std::optional<std::int64_t> optional_integer(const json::object& from, const char* name) {
  const json::value* value = field(from, name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_int64()) throw bad_field{name};
  return value->as_int64();
}

void optional_text(const json::object& from, const char* name) {
  const json::value* value = field(from, name);
  if (value != nullptr && !value->is_string()) throw bad_field{name};
}

std::vector<std::string> names_in(const json::value& from, const char* name) {
  if (!from.is_array()) throw bad_field{name};
  std::vector<std::string> names;
  for (const json::value& value : from.as_array()) names.push_back(checked_id(value, name));
  return each_once(names);
}

std::vector<std::string> optional_names(const json::object& from, const char* name) {
  const json::value* value = field(from, name);
  return value == nullptr ? std::vector<std::string>{} : names_in(*value, name);
}

event_fields decode_event(const json::value& from, const char* name, bool may_have_source) {
  if (!from.is_object()) throw bad_field{name};
  const json::object& object = from.as_object();
  event_fields event;
  event.id_ = required_id(object, "id");
  // The source of an output in `activation_ended` is that activation; a `source` field is ignored.
  if (may_have_source && field(object, "source") != nullptr) event.source_ = required_id(object, "source");
  event.recipients_ = optional_names(object, "recipients");
  optional_text(object, "kind");
  if (const json::value* kind = field(object, "kind")) event.kind_ = std::string(kind->as_string());
  event.submit_ = optional_bool(object, "submit");
  event.fyi_ = optional_bool(object, "fyi") && !event.submit_;
  if (field(object, "fingerprint") != nullptr) event.fingerprint_ = "given " + required_id(object, "fingerprint");
  else if (const json::value* payload = field(object, "payload"))
    event.fingerprint_ = "payload " + json::serialize(*payload);
  return event;
}

reaction_fields decode_reaction(const json::value& from) {
  if (from.is_string()) {
    const std::string_view text = from.as_string();
    if (text == "consume") return {reaction_kind::consume, {}};
    if (text == "wait") return {reaction_kind::wait, {}};
    if (text == "discard") return {reaction_kind::discard, {}};
  } else if (from.is_object()) {
    if (const json::value* targets = field(from.as_object(), "reroute"))
      return {reaction_kind::reroute, names_in(*targets, "reactions")};
  }
  throw bad_field{"reactions"};
}

void decode_end(const json::object& line, message& out) {
  out.activation_ = required_id(line, "activation");
  out.failed_ = optional_bool(line, "failed");
  out.as_is_ = optional_bool(line, "as_is");
  optional_text(line, "error");
  if (const json::value* reactions = field(line, "reactions")) {
    if (!reactions->is_object()) throw bad_field{"reactions"};
    for (const auto& [id, reaction] : reactions->as_object())
      out.reactions_[std::string(id)] = decode_reaction(reaction);
  }
  if (const json::value* outputs = field(line, "outputs")) {
    if (!outputs->is_array()) throw bad_field{"outputs"};
    for (const json::value& value : outputs->as_array()) out.outputs_.push_back(decode_event(value, "outputs", false));
  }
}

// Whole amounts are integers in this generator's traces.
usage_record decode_usage(const json::value& from) {
  if (!from.is_object()) throw bad_field{"usage"};
  auto amount = [&](const char* name) {
    const std::int64_t value = optional_integer(from.as_object(), name).value_or(0);
    if (value < 0 || value > 1000000000) throw bad_field{name};
    return value;
  };
  usage_record used;
  used.tokens_ = amount("input_tokens");
  if (const json::value* cost = field(from.as_object(), "cost")) {
    if (!cost->is_number()) throw bad_field{"cost"};
    const double value = cost->to_number<double>();
    if (value < 0 || value > 1e9) throw bad_field{"cost"};
    used.cost_ = static_cast<std::int64_t>(std::floor(1e6 * value + 0.5));
  }
  used.tokens_ += amount("output_tokens");
  used.model_calls_ = amount("model_calls");
  used.tool_calls_ = amount("tool_calls");
  return used;
}

// The protocol leaves open which of two invalid fields is reported. Following the order of the engine keeps a shrinking
// trace from ending in this difference.
void decode_delivery(const json::object& line, message& out) {
  const json::value* applied = field(line, "applied");
  if (applied == nullptr || !applied->is_string()) throw bad_field{"applied"};
  static const std::set<std::string_view> known{"as_is",    "injected",  "rerouted",    "created",
                                                "released", "cancelled", "unsupported", "failed"};
  if (known.count(applied->as_string()) == 0) throw bad_field{"applied"};
  out.applied_as_is_ = applied->as_string() == "as_is";
  if (field(line, "event") != nullptr) out.reported_event_ = required_id(line, "event");
  else if (const json::value* of = field(line, "of")) {
    // The id of an intervention contains an event id, so it may be longer than other ids.
    if (!of->is_string() || of->as_string().empty()) throw bad_field{"of"};
    out.reported_event_ = std::string(of->as_string());
    out.reports_of_ = true;
  } else throw bad_field{"event"};
  optional_text(line, "reason");
}

void decode_run_ended(const json::object& line, message& out) {
  static const std::set<std::string_view> known{"success", "failure", "aborted"};
  const json::value* outcome = field(line, "outcome");
  if (outcome != nullptr && (!outcome->is_string() || known.count(outcome->as_string()) == 0))
    throw bad_field{"outcome"};
  out.reports_at_end_ = outcome == nullptr || outcome->as_string() == "failure";
}

message_type decode_type(const json::object& line) {
  static const std::map<std::string_view, message_type> known{{"agent_joined", message_type::agent_joined},
                                                              {"agent_left", message_type::agent_left},
                                                              {"event", message_type::event},
                                                              {"activation_started", message_type::activation_started},
                                                              {"activation_ended", message_type::activation_ended},
                                                              {"delivery", message_type::delivery},
                                                              {"gap", message_type::gap},
                                                              {"time", message_type::time},
                                                              {"run_ended", message_type::run_ended},
                                                              {"usage", message_type::usage}};
  const json::value* type = field(line, "type");
  if (type == nullptr || !type->is_string() || known.count(type->as_string()) == 0) throw bad_field{"type"};
  return known.at(type->as_string());
}

void decode_body(const json::object& line, message& out) {
  switch (out.type_) {
    case message_type::agent_joined:
    case message_type::agent_left: out.agent_ = required_id(line, "agent"); break;
    case message_type::event: {
      const json::value* event = field(line, "event");
      if (event == nullptr) throw bad_field{"event"};
      out.as_is_ = optional_bool(line, "as_is");
      out.event_ = decode_event(*event, "event", true);
      break;
    }
    case message_type::activation_started:
      out.activation_ = required_id(line, "activation");
      out.agent_ = required_id(line, "agent");
      out.inputs_ = optional_names(line, "inputs");
      break;
    case message_type::activation_ended: decode_end(line, out); break;
    case message_type::delivery: decode_delivery(line, out); break;
    case message_type::gap: optional_integer(line, "dropped"); break;
    case message_type::time: break;
    case message_type::run_ended: decode_run_ended(line, out); break;
    case message_type::usage:
      out.activation_ = required_id(line, "activation");
      if (field(line, "usage") == nullptr) throw bad_field{"usage"};
      break;
  }
  const bool may_report = out.type_ == message_type::usage || out.type_ == message_type::event ||
                          out.type_ == message_type::activation_started || out.type_ == message_type::activation_ended;
  if (const json::value* usage = field(line, "usage"); usage != nullptr && may_report)
    out.usage_ = decode_usage(*usage);
}

std::int64_t integer_or(const json::object& from, const char* name, std::int64_t fallback) {
  const json::value* value = field(from, name);
  return value != nullptr && value->is_int64() ? value->as_int64() : fallback;
}

// Replaces `to` with the list of texts in the field `name`, if `from` has one.
void take_texts(const json::object& from, const char* name, std::set<std::string>& to) {
  const json::value* texts = field(from, name);
  if (texts == nullptr || !texts->is_array()) return;
  to.clear();
  for (const json::value& text : texts->as_array())
    if (text.is_string()) to.insert(std::string(text.as_string()));
}

const json::object& object_in(const json::object& from, const char* name) {
  static const json::object empty;
  const json::value* value = field(from, name);
  return value != nullptr && value->is_object() ? value->as_object() : empty;
}

}  // namespace

// "give:E:n" names the event E, whose id may contain colons. Any other text is the id of an event.
std::string event_named_by(const std::string& of) {
  const std::size_t last = of.rfind(':');
  if (of.rfind("give:", 0) == 0 && last > 5) return of.substr(5, last - 5);
  return of;
}

const json::value* field(const json::object& from, std::string_view name) {
  const json::value* value = from.if_contains(name);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

std::vector<std::string> each_once(const std::vector<std::string>& names) {
  std::vector<std::string> once;
  std::set<std::string> seen;
  for (const std::string& name : names)
    if (seen.insert(name).second) once.push_back(name);
  return once;
}

std::optional<std::string> decode_message(const json::object& line, message& out) {
  try {
    out.type_ = decode_type(line);
    out.ts_ = optional_integer(line, "ts");
    decode_body(line, out);
    return std::nullopt;
  } catch (const bad_field& bad) {
    return bad.name_;
  }
}

std::optional<mode> decode_mode(const json::object& from) {
  static const std::map<std::string_view, mode> known{
      {"off", mode::off}, {"observe", mode::observe}, {"shadow", mode::shadow}, {"enforce", mode::enforce}};
  const json::value* value = field(from, "mode");
  if (value == nullptr || !value->is_string() || known.count(value->as_string()) == 0) return std::nullopt;
  return known.at(value->as_string());
}

guard_settings decode_guards(const json::object& hello, guard_settings base) {
  const json::object& guards = object_in(hello, "guards");
  for (std::size_t i = 0; i < guard_count; ++i) {
    const json::object& from = object_in(guards, name_of(static_cast<rule>(rule_count + i)));
    for (const char* name : {"max_tokens", "max_model_calls", "max_tool_calls", "max_activations", "max_ms",
                             "max_depth", "max_outputs", "max_live", "max_repeats", "after_ms"})
      if (const json::value* limit = field(from, name)) base.limits_[name] = limit->to_number<std::int64_t>();
    if (const json::value* cost = field(from, "max_cost"))
      base.limits_["max_cost"] = static_cast<std::int64_t>(std::floor(1e6 * cost->to_number<double>() + 0.5));
    if (const json::value* per = field(from, "per")) base.per_ = std::string(per->as_string());
    if (const json::value* warn_at = field(from, "warn_at")) base.warn_at_ = warn_at->to_number<double>();
    base.window_ = integer_or(from, "window", base.window_);
    const json::value* action = field(from, "action");
    if (action == nullptr || (action->is_array() && action->as_array().empty())) continue;
    base.actions_[i].clear();
    if (action->is_string()) base.actions_[i].emplace_back(action->as_string());
    else
      for (const json::value& name : action->as_array()) base.actions_[i].emplace_back(name.as_string());
  }
  base.hold_ms_ = integer_or(guards, "hold_ms", base.hold_ms_);
  if (const json::value* on_timeout = field(guards, "on_timeout"))
    base.on_timeout_ = std::string(on_timeout->as_string());
  return base;
}

all_rules decode_rules(const json::object& hello, all_rules base) {
  const json::object& rules = object_in(hello, "rules");
  for (std::size_t i = 0; i < rule_count + guard_count; ++i) {
    const rule r = static_cast<rule>(i);
    const json::object& from = object_in(is_guard(r) ? object_in(hello, "guards") : rules, name_of(r));
    rule_settings& to = base[i];
    to.mode_ = decode_mode(from).value_or(to.mode_);
    to.window_ms_ = integer_or(from, "window_ms", to.window_ms_);
    to.max_attempts_ = integer_or(from, "max_attempts", to.max_attempts_);
    to.max_reroutes_ = integer_or(from, "max_reroutes", to.max_reroutes_);
    if (const json::value* skip = field(from, "skip_repeated")) to.skip_repeated_ = skip->as_bool();
    take_texts(from, "kinds", to.kinds_);
    take_texts(from, "except", to.except_);
  }
  return base;
}

settings decode_settings(const json::object& hello) {
  settings decoded;
  auto at = [&](rule r) -> rule_settings& { return decoded.rules_[static_cast<std::size_t>(r)]; };
  at(rule::deadlock).window_ms_ = 10000;
  at(rule::missing_termination).window_ms_ = 10000;
  at(rule::orphaned_event).window_ms_ = 5000;
  decoded.rules_ = decode_rules(hello, decoded.rules_);
  decoded.guards_ = decode_guards(hello, {});
  decoded.mode_ = decode_mode(hello).value_or(mode::enforce);
  if (const json::value* clock = field(hello, "clock"); clock != nullptr && clock->is_string())
    decoded.clock_ = std::string(clock->as_string());
  const json::object& healing = object_in(hello, "healing");
  decoded.budget_ = integer_or(healing, "budget", decoded.budget_);
  decoded.max_returns_per_agent_ = integer_or(healing, "max_returns_per_agent", decoded.max_returns_per_agent_);
  const json::object& limits = object_in(hello, "limits");
  decoded.stalled_ms_ = integer_or(limits, "stalled_ms", decoded.stalled_ms_);
  decoded.settled_events_ = integer_or(limits, "settled_events", decoded.settled_events_);
  decoded.generators_ = integer_or(limits, "generators", decoded.generators_);
  return decoded;
}

capabilities decode_capabilities(const json::object& hello) {
  const json::object& from = object_in(hello, "capabilities");
  auto can = [&](const char* name) {
    const json::value* value = field(from, name);
    return value == nullptr || !value->is_bool() || value->as_bool();
  };
  auto declares = [&](const char* name) {
    const json::value* value = field(from, name);
    return value != nullptr && value->is_bool() && value->as_bool();
  };
  return {can("inject"), can("reroute"), can("create"), declares("hold"), declares("cancel")};
}

const char* name_of(rule r) {
  static constexpr const char* names[] = {"early_termination",
                                          "orphaned_event",
                                          "excessive_rerouting",
                                          "cross_lineage_aggregation",
                                          "repeated_subproblem",
                                          "deadlock",
                                          "missing_termination",
                                          "budget",
                                          "fan_out",
                                          "repetition",
                                          "stall"};
  return names[static_cast<std::size_t>(r)];
}

const char* name_of(error_code c) {
  static constexpr const char* names[] = {"bad_json",
                                          "bad_message",
                                          "bad_seq",
                                          "too_large",
                                          "over_limit",
                                          "unknown_event",
                                          "unknown_activation",
                                          "activation_closed",
                                          "duplicate_event",
                                          "duplicate_activation",
                                          "reserved_id",
                                          "settled_event",
                                          "not_an_input",
                                          "failed_with_outputs",
                                          "submit_without_source",
                                          "run_closed",
                                          "unauthorized",
                                          "unsupported_protocol",
                                          "hello_conflict",
                                          "moved",
                                          "hold_closed"};
  return names[static_cast<std::size_t>(c)];
}

}  // namespace oracle
