#include "cli/feed_lines.h"

#include <boost/json/serialize.hpp>
#include <string_view>

#include "cli/printable.h"
#include "report/picture/text.h"

namespace digd::cli {

namespace json = boost::json;

namespace {

using tone = table::tone;
using lines = std::vector<feed_line>;

std::string_view raw(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  const json::string* text = found ? found->if_string() : nullptr;
  return text ? std::string_view(text->data(), text->size()) : std::string_view{};
}

std::string name(const json::object& from, std::string_view key) { return picture::safe(raw(from, key)); }

std::string names(const json::object& from, std::string_view key, std::string_view none = "nobody") {
  const json::value* found = from.if_contains(key);
  std::string out;
  if (found && found->is_array()) {
    for (const json::value& value : found->get_array()) {
      if (value.is_string())
        out += (out.empty() ? "" : ", ") + picture::safe({value.get_string().data(), value.get_string().size()});
    }
  }
  return out.empty() ? std::string(none) : out;
}

bool is_true(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found && found->is_bool() && found->get_bool();
}

const json::object& part(const json::object& from, std::string_view key) {
  static const json::object nothing;
  const json::value* found = from.if_contains(key);
  return found && found->is_object() ? found->get_object() : nothing;
}

const json::array& list(const json::object& from, std::string_view key) {
  static const json::array nothing;
  const json::value* found = from.if_contains(key);
  return found && found->is_array() ? found->get_array() : nothing;
}

std::string number(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found && found->is_number() ? json::serialize(*found) : "?";
}

// "e3 → coder, tester (problem)", and its payload where the feed has it.
std::string event_text(const json::object& e) {
  std::string out = name(e, "id");
  out += is_true(e, "submit") ? " as the answer" : " → " + names(e, "recipients");
  if (!raw(e, "kind").empty()) out += " (" + name(e, "kind") + ")";
  if (is_true(e, "fyi")) out += " fyi";
  if (const json::value* payload = e.if_contains("payload")) out += "  " + printable(json::serialize(*payload));
  return out;
}

std::string reactions_text(const json::object& message) {
  std::string out;
  for (const auto& [event, what] : part(message, "reactions")) {
    out += (out.empty() ? "" : ", ") + picture::safe({event.data(), event.size()}) + ' ';
    out += what.is_object()   ? "reroute → " + names(what.get_object(), "reroute")
           : what.is_string() ? picture::safe({what.get_string().data(), what.get_string().size()})
                              : "?";
  }
  return out;
}

void add_ended(const json::object& m, lines& out) {
  std::string text = name(m, "activation") + (is_true(m, "failed") ? " fails" : " ends");
  if (!raw(m, "error").empty()) text += ": " + name(m, "error");
  const std::string reactions = reactions_text(m);
  if (!reactions.empty()) text += ": " + reactions;
  out.push_back({text, is_true(m, "failed") ? tone::bad : tone::plain});
  for (const json::value& value : list(m, "outputs")) {
    if (value.is_object()) out.push_back({"  " + event_text(value.get_object())});
  }
}

void add_message(const json::object& m, lines& out) {
  const std::string_view type = raw(m, "type");
  if (type == "event") {
    const json::object& e = part(m, "event");
    const std::string source = raw(e, "source").empty() ? "" : name(e, "source") + ": ";
    out.push_back({source + event_text(e)});
  } else if (type == "activation_started") {
    out.push_back({name(m, "agent") + " starts " + name(m, "activation") + " with " + names(m, "inputs", "nothing")});
  } else if (type == "activation_ended") {
    add_ended(m, out);
  } else if (type == "agent_joined" || type == "agent_left") {
    out.push_back({name(m, "agent") + (type == "agent_joined" ? " joins" : " leaves")});
  } else if (type == "gap") {
    out.push_back({number(m, "dropped") + " messages were lost", tone::warning});
  } else if (type == "run_ended") {
    const std::string_view outcome = raw(m, "outcome");
    out.push_back({"the run ends" + (outcome.empty() ? std::string() : ": " + name(m, "outcome")),
                   outcome == "success" ? tone::good
                   : outcome.empty()    ? tone::plain
                                        : tone::bad});
  } else if (type == "time") {
    out.push_back({"time passes", tone::quiet});
  } else {
    out.push_back({picture::safe(type)});
  }
}

void add_detection(const json::object& d, lines& out) {
  const bool healed = is_true(d, "healed");
  std::string text = "! " + name(d, "rule");
  if (!raw(d, "event").empty()) text += ' ' + name(d, "event");
  text += healed ? " (healed: " + name(d, "healing") + ")" : " (not healed: " + name(d, "cause") + ")";
  text += "  " + printable(raw(d, "reason"));
  out.push_back({text, raw(d, "severity") == "failure" ? tone::bad : tone::warning});
}

void add_action(std::string text, const json::object& object, lines& out) {
  if (!list(object, "recipients").empty()) text += " → " + names(object, "recipients");
  if (!raw(object, "inject").empty()) text += "  " + printable(raw(object, "inject"));
  out.push_back({std::move(text), tone::good});
}

void add_verdicts(const json::object& frame, lines& out) {
  for (const json::value& value : list(frame, "verdicts")) {
    if (!value.is_object()) continue;
    const json::object& v = value.get_object();
    if (raw(v, "action") != "deliver") add_action("+ " + name(v, "action") + ' ' + name(v, "event"), v, out);
  }
}

void add_outcome(const json::object& o, lines& out) {
  std::string text = "= " + name(o, "rule");
  if (!raw(o, "event").empty()) text += ' ' + name(o, "event");
  const bool cleared = raw(o, "outcome") == "cleared";
  out.push_back({text + ": " + name(o, "outcome"), cleared ? tone::good : tone::warning});
}

}  // namespace

std::vector<feed_line> feed_lines(const json::object& frame) {
  lines out;
  const std::string_view type = raw(frame, "type");
  if (type == "message") add_message(part(frame, "message"), out);
  if (type == "detection") add_detection(part(frame, "detection"), out);
  if (type == "verdicts") add_verdicts(frame, out);
  if (type == "intervention") {
    const json::object& i = part(frame, "intervention");
    const std::string event = raw(i, "event").empty() ? "" : ' ' + name(i, "event");
    add_action("+ " + name(i, "action") + ' ' + name(i, "id") + event, i, out);
  }
  if (type == "delivery") {
    const json::object& d = part(frame, "delivery");
    const std::string of = raw(d, "of").empty() ? name(d, "event") : name(d, "of");
    const std::string reason = raw(d, "reason").empty() ? "" : " (" + name(d, "reason") + ")";
    out.push_back({"delivered " + of + ": " + name(d, "applied") + reason, tone::quiet});
  }
  if (type == "outcome") add_outcome(part(frame, "outcome"), out);
  if (type == "operator_mode") {
    out.push_back({"the operator's switch is on " + name(part(frame, "operator_mode"), "mode"), tone::warning});
  }
  if (type == "limit") {
    const json::object& l = part(frame, "limit");
    const std::string policy = name(l, "policy");
    const bool unjudged = policy == "observe";
    out.push_back(
        {policy == "resume"
             ? "judging has resumed after the limit " + name(l, "limit") + ", with an empty graph"
             : "the limit " + name(l, "limit") + " was hit: " +
                   (unjudged ? "judging stopped, events are delivered unchanged" : "pending events are forgotten"),
         tone::warning});
  }
  return out;
}

}  // namespace digd::cli
