#include "cli/feed_lines.h"

#include <boost/json/serialize.hpp>
#include <string_view>

#include "cli/json_fields.h"
#include "cli/printable.h"
#include "report/picture/text.h"

namespace digd::cli {

namespace json = boost::json;

namespace {

using tone = table::tone;
using lines = std::vector<feed_line>;

std::string name_in(const json::object& from, std::string_view key) { return picture::safe(text_in(from, key)); }

std::string names_in(const json::object& from, std::string_view key, std::string_view none = "nobody") {
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

std::string number(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found && found->is_number() ? json::serialize(*found) : "?";
}

// "e3 → coder, tester (problem)", and its payload where the feed has it.
std::string event_text(const json::object& e) {
  std::string out = name_in(e, "id");
  out += is_true(e, "submit") ? " as the answer" : " → " + names_in(e, "recipients");
  if (!text_in(e, "kind").empty()) out += " (" + name_in(e, "kind") + ")";
  if (is_true(e, "fyi")) out += " fyi";
  if (const json::value* payload = e.if_contains("payload")) out += "  " + printable(json::serialize(*payload));
  return out;
}

std::string reactions_text(const json::object& message) {
  std::string out;
  for (const auto& [event, reaction] : object_in(message, "reactions")) {
    out += (out.empty() ? "" : ", ") + picture::safe({event.data(), event.size()}) + ' ';
    out += reaction.is_object()   ? "reroute → " + names_in(reaction.get_object(), "reroute")
           : reaction.is_string() ? picture::safe({reaction.get_string().data(), reaction.get_string().size()})
                                  : "?";
  }
  return out;
}

void add_ended(const json::object& m, lines& out) {
  std::string text = name_in(m, "activation") + (is_true(m, "failed") ? " fails" : " ends");
  if (!text_in(m, "error").empty()) text += ": " + name_in(m, "error");
  const std::string reactions = reactions_text(m);
  if (!reactions.empty()) text += ": " + reactions;
  out.push_back({text, is_true(m, "failed") ? tone::bad : tone::plain});
  for (const json::value& value : array_in(m, "outputs")) {
    if (value.is_object()) out.push_back({"  " + event_text(value.get_object())});
  }
}

void add_message(const json::object& m, lines& out) {
  const std::string_view type = text_in(m, "type");
  if (type == "event") {
    const json::object& e = object_in(m, "event");
    const std::string source = text_in(e, "source").empty() ? "" : name_in(e, "source") + ": ";
    out.push_back({source + event_text(e)});
  } else if (type == "activation_started") {
    out.push_back(
        {name_in(m, "agent") + " starts " + name_in(m, "activation") + " with " + names_in(m, "inputs", "nothing")});
  } else if (type == "activation_ended") {
    add_ended(m, out);
  } else if (type == "agent_joined" || type == "agent_left") {
    out.push_back({name_in(m, "agent") + (type == "agent_joined" ? " joins" : " leaves")});
  } else if (type == "gap") {
    out.push_back({number(m, "dropped") + " messages were lost", tone::warning});
  } else if (type == "run_ended") {
    const std::string_view outcome = text_in(m, "outcome");
    out.push_back({"the run ends" + (outcome.empty() ? std::string() : ": " + name_in(m, "outcome")),
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
  std::string text = "! " + name_in(d, "rule");
  if (!text_in(d, "event").empty()) text += ' ' + name_in(d, "event");
  text += healed ? " (healed: " + name_in(d, "healing") + ")" : " (not healed: " + name_in(d, "cause") + ")";
  text += "  " + printable(text_in(d, "reason"));
  out.push_back({text, text_in(d, "severity") == "failure" ? tone::bad : tone::warning});
}

void add_action(std::string text, const json::object& object, lines& out) {
  if (!array_in(object, "recipients").empty()) text += " → " + names_in(object, "recipients");
  if (!text_in(object, "inject").empty()) text += "  " + printable(text_in(object, "inject"));
  out.push_back({std::move(text), tone::good});
}

void add_verdicts(const json::object& frame, lines& out) {
  for (const json::value& value : array_in(frame, "verdicts")) {
    if (!value.is_object()) continue;
    const json::object& v = value.get_object();
    if (text_in(v, "action") != "deliver") add_action("+ " + name_in(v, "action") + ' ' + name_in(v, "event"), v, out);
  }
}

void add_outcome(const json::object& o, lines& out) {
  std::string text = "= " + name_in(o, "rule");
  if (!text_in(o, "event").empty()) text += ' ' + name_in(o, "event");
  const bool cleared = text_in(o, "outcome") == "cleared";
  out.push_back({text + ": " + name_in(o, "outcome"), cleared ? tone::good : tone::warning});
}

}  // namespace

std::vector<feed_line> feed_lines(const json::object& frame) {
  lines out;
  const std::string_view type = text_in(frame, "type");
  if (type == "message") add_message(object_in(frame, "message"), out);
  if (type == "detection") add_detection(object_in(frame, "detection"), out);
  if (type == "verdicts") add_verdicts(frame, out);
  if (type == "intervention") {
    const json::object& i = object_in(frame, "intervention");
    const std::string event = text_in(i, "event").empty() ? "" : ' ' + name_in(i, "event");
    add_action("+ " + name_in(i, "action") + ' ' + name_in(i, "id") + event, i, out);
  }
  if (type == "delivery") {
    const json::object& d = object_in(frame, "delivery");
    const std::string of = text_in(d, "of").empty() ? name_in(d, "event") : name_in(d, "of");
    const std::string reason = text_in(d, "reason").empty() ? "" : " (" + name_in(d, "reason") + ")";
    out.push_back({"delivered " + of + ": " + name_in(d, "applied") + reason, tone::quiet});
  }
  if (type == "outcome") add_outcome(object_in(frame, "outcome"), out);
  if (type == "operator_mode") {
    out.push_back({"the operator's switch is on " + name_in(object_in(frame, "operator_mode"), "mode"), tone::warning});
  }
  if (type == "limit") {
    const json::object& l = object_in(frame, "limit");
    const std::string policy = name_in(l, "policy");
    const bool unjudged = policy == "observe";
    out.push_back(
        {policy == "resume"
             ? "judging has resumed after the limit " + name_in(l, "limit") + ", with an empty graph"
             : "the limit " + name_in(l, "limit") + " was hit: " +
                   (unjudged ? "judging stopped, events are delivered unchanged" : "pending events are forgotten"),
         tone::warning});
  }
  return out;
}

}  // namespace digd::cli
