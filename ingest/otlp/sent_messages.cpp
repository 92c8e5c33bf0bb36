#include "ingest/otlp/sent_messages.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

namespace digd::otlp {

namespace json = boost::json;

namespace {

std::string text(const json::object& of, std::string_view key) {
  const json::value* found = of.if_contains(key);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

json::object* object_in(json::object& of, std::string_view key) {
  json::value* found = of.if_contains(key);
  return found == nullptr ? nullptr : found->if_object();
}

void mark(json::object& in, std::string_view member) {
  json::value& list = in["inferred"];
  if (!list.is_array()) list = json::array();
  for (const json::value& value : list.get_array()) {
    if (value.is_string() && value.get_string() == member) return;
  }
  list.get_array().emplace_back(member);
}

}  // namespace

std::vector<run_message> sent_messages::take_unsent(mapped_run&& whole) {
  std::vector<run_message> out;
  for (run_message& message : whole.messages) {
    std::vector<run_message> extra;
    const bool is_unsent_now = is_unsent(message, extra);
    for (run_message& event : extra) {
      keep_time(event);
      out.push_back(std::move(event));
    }
    if (!is_unsent_now) continue;
    keep_time(message);
    out.push_back(std::move(message));
  }
  return out;
}

bool sent_messages::is_unsent(run_message& message, std::vector<run_message>& extra) {
  if (message.type == "activation_ended") return is_unsent_end(message, extra);
  if (message.type == "activation_started") {
    if (started_.contains(text(message.members, "activation"))) return false;
    note_start(message.members);
    return true;
  }
  json::object* event = object_in(message.members, "event");
  if (event == nullptr || !events_.insert(text(*event, "id")).second) return false;
  const auto source = started_.find(text(*event, "source"));
  if (source != started_.end() && source->second.ended) send_from_outside(*event);
  return true;
}

// The activation of the event has ended, so the graph accepts the event only as a root event.
void sent_messages::send_from_outside(json::object& event) {
  event.erase("source");
  if (event.erase("submit") > 0) event["fyi"] = true;
  mark(event, "source");
  ++moved_;
}

bool sent_messages::is_unsent_end(run_message& message, std::vector<run_message>& extra) {
  activation& mine = started_[text(message.members, "activation")];
  json::array fresh;
  if (json::value* outputs = message.members.if_contains("outputs"); outputs != nullptr) {
    for (json::value& output : outputs->as_array()) {
      if (!events_.insert(text(output.get_object(), "id")).second) continue;
      fresh.push_back(std::move(output));
    }
    if (!mine.ended) *outputs = fresh;
  }
  if (mine.ended) {
    for (json::value& output : fresh) {
      send_from_outside(output.get_object());
      extra.push_back({"event", message.ts_ms, {{"as_is", true}, {"event", std::move(output)}}});
    }
    return false;
  }
  if (json::object* reactions = object_in(message.members, "reactions")) {
    json::object known;
    for (auto& [input, reaction] : *reactions) {
      if (mine.inputs.contains(std::string(input))) known[input] = reaction;
    }
    *reactions = std::move(known);
  }
  mine.ended = true;
  return true;
}

void sent_messages::note_start(const json::object& members) {
  activation& made = started_[text(members, "activation")];
  const json::value* inputs = members.if_contains("inputs");
  if (inputs == nullptr || !inputs->is_array()) return;
  for (const json::value& input : inputs->get_array()) {
    if (input.is_string()) made.inputs.insert(std::string(input.get_string()));
  }
}

void sent_messages::keep_time(run_message& message) {
  if (message.ts_ms < now_ms_) {
    message.ts_ms = now_ms_;
    mark(message.members, "ts");
    ++moved_;
  }
  now_ms_ = message.ts_ms;
}

void sent_messages::note(const json::object& line) {
  const std::string type = text(line, "type");
  if (const json::value* ts = line.if_contains("ts"); ts != nullptr && ts->is_int64())
    now_ms_ = std::max(now_ms_, ts->get_int64());
  if (type == "activation_started") return note_start(line);
  const auto note_event = [&](const json::value& event) {
    if (event.is_object()) events_.insert(text(event.get_object(), "id"));
  };
  if (const json::value* event = line.if_contains("event")) note_event(*event);
  if (type != "activation_ended") return;
  started_[text(line, "activation")].ended = true;
  if (const json::value* outputs = line.if_contains("outputs"); outputs != nullptr && outputs->is_array()) {
    for (const json::value& output : outputs->get_array()) note_event(output);
  }
}

}  // namespace digd::otlp
