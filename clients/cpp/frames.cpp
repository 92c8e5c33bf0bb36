#include "clients/cpp/frames.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/string.hpp>

#include "base/json_writer.h"
#include "net/daemon_frame.h"

namespace digd::client {

namespace json = boost::json;

namespace {

constexpr std::size_t max_error_bytes = 2000;
constexpr std::array<std::string_view, 4> action_names{"deliver", "inject", "reroute", "create"};
constexpr std::array<std::string_view, 3> outcome_names{"success", "failure", "aborted"};
constexpr std::array<std::string_view, 3> reaction_names{"consume", "wait", "discard"};

// The members of a message: begun as an object, of which the opening brace is dropped.
class members {
 public:
  members() { writer_.open_object(); }
  json_writer& key(std::string_view name) { return writer_.key(name); }
  void text(std::string_view name, std::string_view value) { writer_.key(name).text(value); }
  void texts(std::string_view name, const std::vector<std::string>& values) {
    writer_.key(name).open_array();
    for (const std::string& value : values) writer_.text(value);
    writer_.close_array();
  }
  void flag(std::string_view name) { writer_.key(name).boolean(true); }
  json_writer& writer() { return writer_; }

  std::string take_object() {
    writer_.close_object();
    return std::move(text_);
  }
  std::string take_members() {
    text_[0] = ',';
    return text_.size() == 1 ? std::string() : std::move(text_);
  }

 private:
  std::string text_;
  json_writer writer_{text_};
};

std::string event_json(const event& of, std::string_view activation, std::size_t max_bytes) {
  members fields;
  fields.text("id", of.id);
  fields.texts("recipients", of.recipients);
  if (!activation.empty()) fields.text("source", activation);
  if (!of.kind.empty()) fields.text("kind", of.kind);
  if (of.submit) fields.flag("submit");
  if (of.fyi) fields.flag("fyi");
  if (of.payload.size() > max_bytes) {
    fields.text("payload", "digd: left out, " + std::to_string(of.payload.size()) + " bytes");
  } else if (!of.payload.empty()) {
    fields.key("payload").raw(of.payload);
  }
  return fields.take_object();
}

// The space for a payload; the ids and names of an event take the rest.
std::size_t payload_room(std::size_t max_bytes, std::size_t events) {
  return max_bytes / 2 / std::max<std::size_t>(1, events);
}

std::vector<std::string> texts_in(const json::object& from, std::string_view key) {
  std::vector<std::string> texts;
  const json::value* found = from.if_contains(key);
  if (found == nullptr || !found->is_array()) return texts;
  for (const json::value& element : found->get_array()) {
    if (element.is_string()) texts.emplace_back(element.get_string().c_str(), element.get_string().size());
  }
  return texts;
}

std::vector<detection> detections_in(const json::object& from) {
  std::vector<detection> found;
  const json::value* list = from.if_contains("detections");
  if (list == nullptr || !list->is_array()) return found;
  for (const json::value& element : list->get_array()) {
    const json::object* body = element.if_object();
    if (body == nullptr) continue;
    detection& d = found.emplace_back();
    d.rule = net::text_of(*body, "rule");
    d.severity = net::text_of(*body, "severity");
    d.reason = net::text_of(*body, "reason");
    d.event = net::text_of(*body, "event");
    d.agent = net::text_of(*body, "agent");
    d.evidence = texts_in(*body, "evidence");
    d.healing = net::text_of(*body, "healing");
    d.cause = net::text_of(*body, "cause");
    const json::value* healed = body->if_contains("healed");
    d.healed = healed != nullptr && healed->is_bool() && healed->get_bool();
  }
  return found;
}

action action_in(const json::object& from) {
  const auto found = std::find(action_names.begin(), action_names.end(), net::text_of(from, "action"));
  return found == action_names.end() ? action::deliver : static_cast<action>(found - action_names.begin());
}

verdict read_verdict(const json::object& from, const blocked_event& on) {
  verdict read;
  read.event = on.id;
  read.submit = on.submit;
  read.action = action_in(from);
  read.recipients = read.action == action::reroute ? texts_in(from, "recipients") : on.recipients;
  read.inject = net::text_of(from, "inject");
  read.detections = detections_in(from);
  return read;
}

}  // namespace

verdict blocked_event::as_is(std::string_view reason) const {
  verdict unchanged;
  unchanged.event = id;
  unchanged.recipients = recipients;
  unchanged.as_is = reason;
  unchanged.submit = submit;
  return unchanged;
}

std::string report::frame(std::uint64_t seq, bool as_is) const {
  std::string text;
  json_writer to(text);
  to.open_object().key("type").text(type).key("seq").integer(seq);
  if (as_is && !blocked.empty()) to.key("as_is").boolean(true);
  text += members;
  to.close_object();
  return text;
}

std::string hello_frame(const options& from, std::string_view run, std::string_view mode) {
  members fields;
  fields.text("type", "hello");
  fields.key("protocol").integer(1);
  fields.text("run", run);
  fields.text("session", from.session);
  if (from.agents) fields.texts("agents", *from.agents);
  if (!mode.empty()) fields.text("mode", mode);
  fields.text("clock", "wall");
  if (!from.rules.empty()) fields.key("rules").raw(from.rules);
  fields.key("capabilities").open_object();
  fields.writer().key("inject").boolean(from.can_inject).key("reroute").boolean(from.can_reroute);
  fields.writer().key("create").boolean(static_cast<bool>(from.on_intervention)).close_object();
  fields.key("client").open_object().key("name").text("digd-cpp").key("version").text(DIGD_VERSION).close_object();
  if (!from.labels.empty()) {
    fields.key("labels").open_object();
    for (const auto& [name, value] : from.labels) fields.text(name, value);
    fields.writer().close_object();
  }
  return fields.take_object();
}

report event_report(const event& announced, std::string_view activation, std::size_t max_bytes) {
  members fields;
  fields.key("event").raw(event_json(announced, activation, payload_room(max_bytes, 1)));
  return {"event", fields.take_members(), {{announced.id, announced.recipients, announced.submit}}};
}

report start_report(std::string_view activation, std::string_view agent, const std::vector<std::string>& inputs) {
  members fields;
  fields.text("activation", activation);
  fields.text("agent", agent);
  fields.texts("inputs", inputs);
  return {"activation_started", fields.take_members(), {}};
}

report end_report(std::string_view activation, const std::vector<event>& outputs,
                  const std::vector<reaction>& reactions, std::size_t max_bytes) {
  report end{"activation_ended", {}, {}};
  members fields;
  fields.text("activation", activation);
  if (!reactions.empty()) {
    fields.key("reactions").open_object();
    for (const reaction& r : reactions) {
      fields.key(r.input);
      if (r.did != reaction::kind::reroute) {
        fields.writer().text(reaction_names[static_cast<std::size_t>(r.did)]);
        continue;
      }
      fields.writer().open_object();
      fields.texts("reroute", r.recipients);
      fields.writer().close_object();
      end.blocked.push_back({r.input, r.recipients});
    }
    fields.writer().close_object();
  }
  if (!outputs.empty()) {
    fields.key("outputs").open_array();
    for (const event& output : outputs) {
      fields.writer().raw(event_json(output, {}, payload_room(max_bytes, outputs.size())));
      end.blocked.push_back({output.id, output.recipients, output.submit});
    }
    fields.writer().close_array();
  }
  end.members = fields.take_members();
  return end;
}

report failure_report(std::string_view activation, std::string_view error) {
  members fields;
  fields.text("activation", activation);
  fields.flag("failed");
  if (!error.empty()) fields.text("error", error.substr(0, max_error_bytes));
  return {"activation_ended", fields.take_members(), {}};
}

report agent_report(std::string_view type, std::string_view agent) {
  members fields;
  fields.text("agent", agent);
  return {std::string(type), fields.take_members(), {}};
}

report delivery_report(std::string_view id, bool of_intervention, std::string_view applied, std::string_view reason) {
  members fields;
  fields.text(of_intervention ? "of" : "event", id);
  fields.text("applied", applied);
  if (!reason.empty()) fields.text("reason", reason.substr(0, max_error_bytes));
  return {"delivery", fields.take_members(), {}};
}

report gap_report(std::uint64_t dropped) {
  members fields;
  fields.key("dropped").integer(dropped);
  return {"gap", fields.take_members(), {}};
}

report finish_report(outcome reached, std::string_view metrics) {
  members fields;
  fields.text("outcome", outcome_names[static_cast<std::size_t>(reached)]);
  if (!metrics.empty()) fields.key("metrics").raw(metrics);
  return {"run_ended", fields.take_members(), {}, true};
}

std::vector<verdict> read_verdicts(const json::object& frame, const std::vector<blocked_event>& blocked) {
  std::vector<verdict> verdicts;
  const json::value* list = frame.if_contains("verdicts");
  for (const blocked_event& b : blocked) {
    const json::object* found = nullptr;
    if (list != nullptr && list->is_array()) {
      for (const json::value& element : list->get_array()) {
        const json::object* body = element.if_object();
        if (body != nullptr && net::text_of(*body, "event") == b.id) found = body;
      }
    }
    verdicts.push_back(found != nullptr ? read_verdict(*found, b) : b.as_is("error:no_verdict"));
  }
  return verdicts;
}

intervention read_intervention(const json::object& frame) {
  intervention read;
  read.id = net::text_of(frame, "id");
  read.action = action_in(frame);
  read.event = net::text_of(frame, "event");
  read.recipients = texts_in(frame, "recipients");
  read.inject = net::text_of(frame, "inject");
  read.detections = detections_in(frame);
  return read;
}

}  // namespace digd::client
