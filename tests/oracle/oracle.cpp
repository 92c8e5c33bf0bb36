#include "oracle.h"

#include "scan.h"

#include <algorithm>
#include <utility>

namespace oracle {

namespace json = boost::json;

namespace {

bool is_reserved(const std::string& id) { return id.rfind("sys:", 0) == 0; }

std::string session_of(const json::object& line) {
  const json::value* name = field(line, "session");
  return name != nullptr && name->is_string() ? std::string(name->as_string()) : "main";
}

// A seq is usable if it is a positive integer.
std::optional<std::int64_t> usable_seq(const json::object& line) {
  const json::value* seq = field(line, "seq");
  if (seq == nullptr || !seq->is_int64() || seq->as_int64() < 1) return std::nullopt;
  return seq->as_int64();
}

}  // namespace

std::vector<std::string> evaluate(const std::vector<std::string>& trace_lines) {
  evaluator run;
  std::vector<std::string> texts;
  for (const std::string& line : trace_lines)
    for (std::string& answer : run.step(line)) texts.push_back(std::move(answer));
  return texts;
}

std::int64_t evaluator::expected_seq(const std::string& session) const {
  const auto found = h_.sessions_.find(session);
  return found == h_.sessions_.end() ? 1 : found->second.expected_seq_;
}

std::vector<std::string> evaluator::step(const std::string& line) {
  out_.clear();
  take(line);
  out_.push_back(status_line(h_));
  return out_;
}

void evaluator::take(const std::string& line) {
  json::error_code failed;
  const json::value parsed = json::parse(line, failed);
  if (failed) return refuse("main", error_code::bad_json, std::nullopt);
  if (!parsed.is_object()) return refuse("main", error_code::bad_message, "seq");
  const json::object& object = parsed.as_object();
  const std::string session = session_of(object);
  const json::value* type = field(object, "type");
  if (type != nullptr && type->is_string() && type->as_string() == "hello") hello(object, session);
  else if (type != nullptr && *type == "decision" && field(object, "session") == nullptr) decide(object);
  else take_message(object, session);
}

void evaluator::hello(const json::object& line, const std::string& name) {
  auto refused = [&](error_code code) { out_.push_back(error_line(std::nullopt, name, code, std::nullopt)); };
  const json::value* protocol = field(line, "protocol");
  if (protocol != nullptr && (!protocol->is_int64() || protocol->as_int64() != 1))
    return refused(error_code::unsupported_protocol);
  const json::value* agents = field(line, "agents");
  if (!started_) {
    started_ = true;
    h_.settings_ = decode_settings(line);
    h_.open_roster_ = agents == nullptr;
  } else {
    // A further hello contradicts the run only in settings that it contains.
    const settings requested = decode_settings(line);
    if (decode_mode(line).value_or(h_.settings_.mode_) != h_.settings_.mode_ ||
        (!requested.clock_.empty() && requested.clock_ != h_.settings_.clock_) ||
        decode_rules(line, h_.settings_.rules_) != h_.settings_.rules_ ||
        decode_guards(line, h_.settings_.guards_) != h_.settings_.guards_)
      return refused(error_code::hello_conflict);
  }
  const bool known = h_.sessions_.count(name) != 0;  // a reconnect may change only the capabilities
  h_.sessions_[name].capabilities_ = decode_capabilities(line);
  if (known) return;
  if (agents != nullptr && agents->is_array())
    for (const json::value& agent : agents->as_array())
      if (agent.is_string()) h_.roster_.insert(std::string(agent.as_string()));
}

// Uses up the expected seq of the session.
void evaluator::refuse(const std::string& name, error_code code, const std::optional<std::string>& field) {
  const auto found = h_.sessions_.find(name);
  if (found == h_.sessions_.end()) {
    out_.push_back(error_line(std::nullopt, name, code, field));
    return;
  }
  out_.push_back(error_line(found->second.expected_seq_, name, code, field));
  ++found->second.expected_seq_;
}

void evaluator::take_message(const json::object& line, const std::string& name) {
  const auto found = h_.sessions_.find(name);
  if (found == h_.sessions_.end()) return refuse(name, error_code::bad_message, "session");
  const std::optional<std::int64_t> seq = usable_seq(line);
  if (!seq) return refuse(name, error_code::bad_message, "seq");
  const std::int64_t expected = found->second.expected_seq_;
  if (*seq < expected) return;
  if (*seq > expected) {
    // Changes nothing and reports the expected seq.
    out_.push_back(error_line(expected, name, error_code::bad_seq, std::nullopt));
    return;
  }
  message m;
  m.session_ = name;
  m.seq_ = *seq;
  if (const std::optional<std::string> bad = decode_message(line, m)) return refuse(name, error_code::bad_message, bad);
  if (const std::optional<error_code> code = check(m)) return refuse(name, *code, std::nullopt);
  ++found->second.expected_seq_;
  accept(m);
}

// Collects all errors and returns the first in the protocol's order, by which the set sorts them.
std::optional<error_code> evaluator::check(const message& m) const {
  std::set<error_code> found;
  if (h_.ended_) found.insert(error_code::run_closed);
  switch (m.type_) {
    case message_type::event:
      check_source(m, found);
      check_new_events({m.event_}, found);
      if (m.event_.submit_ && !m.event_.source_) found.insert(error_code::submit_without_source);
      break;
    case message_type::activation_started: check_start(m, found); break;
    case message_type::activation_ended:
      check_end(m, found);
      check_new_events(m.outputs_, found);
      break;
    case message_type::delivery:
      if (!event_reported(m) && !answers_guard(m)) found.insert(error_code::unknown_event);
      break;
    case message_type::usage:
      if (!find_activation(h_, m.activation_)) found.insert(error_code::unknown_activation);
      break;
    default: break;
  }
  if (found.empty()) return std::nullopt;
  return *found.begin();
}

void evaluator::check_source(const message& m, std::set<error_code>& found) const {
  if (!m.event_.source_) return;
  const std::optional<std::size_t> v = find_activation(h_, *m.event_.source_);
  if (!v) found.insert(error_code::unknown_activation);
  else if (!h_.activations_[*v].open_) found.insert(error_code::activation_closed);
}

void evaluator::check_new_events(const std::vector<event_fields>& events, std::set<error_code>& found) const {
  std::set<std::string> named;
  for (const event_fields& event : events) {
    const std::optional<std::size_t> known = find_event(h_, event.id_);
    const bool late = known && h_.events_[*known].placeholder_;
    if ((known && !late) || !named.insert(event.id_).second) found.insert(error_code::duplicate_event);
    if (is_reserved(event.id_)) found.insert(error_code::reserved_id);
  }
}

void evaluator::check_start(const message& m, std::set<error_code>& found) const {
  if (find_activation(h_, m.activation_)) found.insert(error_code::duplicate_activation);
  if (is_reserved(m.activation_)) found.insert(error_code::reserved_id);
  for (const std::string& id : m.inputs_)
    if (is_reserved(id) && !find_event(h_, id)) found.insert(error_code::reserved_id);
}

void evaluator::check_end(const message& m, std::set<error_code>& found) const {
  if (m.failed_ && (!m.outputs_.empty() || !m.reactions_.empty())) found.insert(error_code::failed_with_outputs);
  const std::optional<std::size_t> v = find_activation(h_, m.activation_);
  if (!v) {
    found.insert(error_code::unknown_activation);
    return;
  }
  const activation_record& activation = h_.activations_[*v];
  if (!activation.open_) {
    found.insert(error_code::activation_closed);
    return;
  }
  for (const auto& [id, reaction] : m.reactions_) {
    const auto input = std::find_if(activation.inputs_.begin(), activation.inputs_.end(),
                                    [&](std::size_t e) { return h_.events_[e].id_ == id; });
    if (input == activation.inputs_.end()) found.insert(error_code::not_an_input);
    else if (reaction.kind_ == reaction_kind::reroute && h_.events_[*input].settled_)
      found.insert(error_code::settled_event);
  }
}

// The whole path of an accepted message.
void evaluator::accept(const message& m) {
  const std::int64_t now = std::max(h_.clock_, m.ts_.value_or(h_.clock_));
  handle_due(now);
  h_.clock_ = now;
  if (!h_.first_message_ms_) h_.first_message_ms_ = now;
  if (m.type_ == message_type::run_ended && m.reports_at_end_) report_at_end();
  const std::vector<blocked_event> blocked = record(m);
  end_taken_holds(m);
  for (std::string& line : std::exchange(hold_lines_, {})) out_.push_back(std::move(line));
  judge(m, blocked);
  if (h_.ended_)
    for (hold_record& hold : h_.holds_) hold.open_ = false;
  update_windows(h_.clock_);
  settle_and_forget();
}

}  // namespace oracle
