#include "healing/callback_body.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/json_writer.h"
#include "base/quote.h"
#include "base/text.h"

namespace digd {

namespace {

namespace json = boost::json;

constexpr std::string_view zero_width_space = "\xe2\x80\x8b";
constexpr std::size_t max_names = 5, max_run_bytes = 300, max_name_bytes = 200;

// Escapes control characters and characters that reorder text, but not quotes and backslashes.
std::string on_one_line(std::string_view text) {
  const std::string escaped = digd::quoted(text);
  std::string out;
  for (std::size_t i = 1; i + 1 < escaped.size(); ++i) {
    const bool is_quote_or_backslash = escaped[i] == '\\' && (escaped[i + 1] == '"' || escaped[i + 1] == '\\');
    if (is_quote_or_backslash) ++i;
    out += escaped[i];
  }
  return out;
}

void append_slack_character(std::string& to, std::string_view line, std::size_t i) {
  const char c = line[i];
  const bool is_last_of_word = i + 1 == line.size() || line[i + 1] == ' ';
  switch (c) {
    case '&': to += "&amp;"; break;
    case '<': to += "&lt;"; break;
    case '>': to += "&gt;"; break;
    case '`': to += '\''; break;
    // Slack makes mentions and links of these: @here, #general, https://…, mailto:…, www.example.com.
    case '@':
    case '#':
    case ':':
    case '.':
      to += c;
      if (!is_last_of_word) to += zero_width_space;
      break;
    default: to += c;
  }
}

std::string_view text_member(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains({name.data(), name.size()});
  const json::string* text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string_view{} : std::string_view(text->data(), text->size());
}

const json::array* array_member(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains({name.data(), name.size()});
  return found == nullptr ? nullptr : found->if_array();
}

// The name of a rule, an action or a cause, or `?`. The names are digd's own, but they are read from stored JSON, so
// they are escaped like any other text.
std::string word_or_mark(std::string_view word) { return word.empty() ? "?" : on_one_line(word); }

std::string healing_text(const json::object& detection) {
  const json::value* healed = detection.if_contains("healed");
  if (healed != nullptr && healed->is_bool() && healed->get_bool())
    return "healed: " + word_or_mark(text_member(detection, "healing"));
  const std::string_view cause = text_member(detection, "cause");
  return cause.empty() ? "not healed" : "not healed: " + word_or_mark(cause);
}

// A detection that the archive has shrunk has no reason.
std::string reason_line(const json::object& detection) {
  const std::string_view reason = text_member(detection, "reason");
  return reason.empty() ? std::string() : "\n" + slack_code(reason);
}

std::string detection_text(std::string_view run, const json::object& detection) {
  std::string out = "*";
  out.append(word_or_mark(text_member(detection, "rule")))
      .append("* (")
      .append(word_or_mark(text_member(detection, "severity")));
  out.append(") in run ").append(slack_code(run, max_run_bytes)).append(", ").append(healing_text(detection));
  return out + reason_line(detection);
}

// The archive cuts a long list; `recipients_total` counts all (docs/archive.md).
std::string recipient_names(const json::object& intervention) {
  const json::array* recipients = array_member(intervention, "recipients");
  if (recipients == nullptr) return {};
  const json::value* total = intervention.if_contains("recipients_total");
  const std::size_t count = total != nullptr && total->is_int64() && total->get_int64() > 0
                                ? static_cast<std::size_t>(total->get_int64())
                                : recipients->size();
  const std::size_t shown = std::min(recipients->size(), max_names);
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    const json::string* name = (*recipients)[i].if_string();
    if (name == nullptr) continue;
    out.append(out.empty() ? " for " : ", ").append(slack_code({name->data(), name->size()}, max_name_bytes));
  }
  if (count > shown) out += (out.empty() ? " for " : " and ") + std::to_string(count - shown) + " more";
  return out;
}

std::string intervention_text(std::string_view run, const json::object& intervention) {
  std::string out = "digd intervened in run " + slack_code(run, max_run_bytes) + ": " +
                    word_or_mark(text_member(intervention, "action"));
  out += recipient_names(intervention);
  const json::array* detections = array_member(intervention, "detections");
  const json::object* first = detections == nullptr || detections->empty() ? nullptr : detections->front().if_object();
  if (first == nullptr) return out;
  return out + ", because of *" + word_or_mark(text_member(*first, "rule")) + "*" + reason_line(*first);
}

// PagerDuty's limits are 1,024 characters for the summary and 255 for the key.
constexpr std::size_t max_summary_bytes = 1'000, max_dedup_bytes = 250;

// The subject of an alert, in PagerDuty's terms.
struct alert {
  std::string rule, agent, severity, healing, reason;
};

alert alert_of_detection(const json::object& detection) {
  const json::value* healed = detection.if_contains("healed");
  const bool is_healed = healed != nullptr && healed->is_bool() && healed->get_bool();
  const bool is_failure = text_member(detection, "severity") == "failure";
  return {.rule = word_or_mark(text_member(detection, "rule")),
          .agent = on_one_line(text_member(detection, "agent")),
          .severity = is_healed    ? "info"
                      : is_failure ? "error"
                                   : "warning",
          .healing = healing_text(detection),
          .reason = on_one_line(text_member(detection, "reason"))};
}

alert alert_of_intervention(const json::object& intervention) {
  const json::array* detections = array_member(intervention, "detections");
  const json::object* first = detections == nullptr || detections->empty() ? nullptr : detections->front().if_object();
  alert out = first == nullptr ? alert{.rule = "?", .agent = {}, .severity = {}, .healing = {}, .reason = {}}
                               : alert_of_detection(*first);
  out.severity = "info";
  out.healing = word_or_mark(text_member(intervention, "action"));
  return out;
}

}  // namespace

std::string callback_id(std::string_view archive_prefix, callback_kind kind, std::int64_t row) {
  std::string id(archive_prefix);
  return id.append("-").append(to_string(kind)).append("-").append(std::to_string(row));
}

std::string generic_body(std::string_view id, callback_kind kind, const callback_text& callback) {
  std::string out;
  json_writer to(out);
  to.open_object().key("id").text(id).key("run").text(callback.run).key(to_string(kind)).raw(callback.json);
  if (!callback.hold.empty()) to.key("hold").text(callback.hold);
  if (!callback.link.empty()) to.key("link").text(callback.link);
  to.close_object();
  return out;
}

std::string link_to_run(std::string_view dashboard, std::string_view run) {
  constexpr std::string_view unreserved = "-._~", hex = "0123456789ABCDEF";
  while (dashboard.ends_with('/')) dashboard.remove_suffix(1);
  std::string out(dashboard);
  out += "/#/run/";
  for (const char c : run) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       unreserved.find(c) != std::string_view::npos;
    if (plain) out += c;
    else out.append("%").append(1, hex[byte >> 4]).append(1, hex[byte & 15]);
  }
  return out;
}

std::string pagerduty_body(std::string_view id, callback_kind kind, const callback_text& callback,
                           std::string_view routing_key, std::string_view dashboard) {
  json::error_code ec;
  const json::value parsed = json::parse(callback.json, ec);
  const json::object none, *fields = ec ? nullptr : parsed.if_object();
  if (fields == nullptr) fields = &none;
  const alert about = kind == callback_kind::detection ? alert_of_detection(*fields) : alert_of_intervention(*fields);
  std::string key = "digd:" + about.rule + ":" + about.agent;
  key = utf8_prefix(key, max_dedup_bytes);
  const std::string summary = about.rule + " in run " + on_one_line(callback.run) + ": " + about.reason;
  std::string out;
  json_writer to(out);
  to.open_object().key("routing_key").text(routing_key).key("event_action").text("trigger").key("dedup_key").text(key);
  to.key("client").text("digd");
  if (!dashboard.empty()) {
    const std::string page = link_to_run(dashboard, callback.run);
    to.key("client_url").text(page);
    to.key("links").open_array().open_object().key("href").text(page).key("text").text("The run in digd");
    to.close_object();
    if (!callback.link.empty()) {
      to.open_object().key("href").text(callback.link).key("text").text("Decide about the held event").close_object();
    }
    to.close_array();
  }
  to.key("payload").open_object().key("summary").text(utf8_prefix(summary, max_summary_bytes));
  to.key("source").text(about.agent.empty() ? std::string_view("digd") : std::string_view(about.agent));
  to.key("severity").text(about.severity).key("component").text("digd").key("class").text(about.rule);
  to.key("group").text(callback.run);
  to.key("custom_details").open_object().key("id").text(id).key("run").text(callback.run);
  to.key("kind").text(to_string(kind)).key("healing").text(about.healing).key("reason").text(about.reason);
  if (callback.joined > 0) to.key("joined").integer(callback.joined);
  to.close_object().close_object().close_object();
  return out;
}

std::string slack_body(callback_kind kind, const callback_text& callback, std::string_view dashboard) {
  json::error_code ec;
  const json::value parsed = json::parse(callback.json, ec);
  const json::object* fields = ec ? nullptr : parsed.if_object();
  std::string text = "digd reports on run " + slack_code(callback.run, max_run_bytes);
  if (fields != nullptr) {
    text = kind == callback_kind::detection ? detection_text(callback.run, *fields)
                                            : intervention_text(callback.run, *fields);
  }
  if (callback.joined > 0)
    text += "\n" + std::to_string(callback.joined) + " more of this rule and agent were left out before.";
  if (!dashboard.empty()) text += "\n<" + link_to_run(dashboard, callback.run) + "|Open the run>";
  if (!callback.link.empty()) text += "\n<" + callback.link + "|Decide about the held event>";
  std::string out;
  json_writer(out).open_object().key("text").text(text).close_object();
  return out;
}

std::string slack_code(std::string_view text, std::size_t max_bytes) {
  constexpr std::string_view cut_mark = "…`";
  const std::string line = on_one_line(utf8_prefix(text, max_bytes));
  std::string out = "`";
  std::size_t end_if_cut = out.size();
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!continues_character(line[i]) && out.size() + cut_mark.size() <= max_bytes) end_if_cut = out.size();
    append_slack_character(out, line, i);
  }
  if (text.empty()) out += "(nothing)";
  if (text.size() <= max_bytes && out.size() < max_bytes) return out + '`';
  out.resize(end_if_cut);
  return out.append(cut_mark);
}

}  // namespace digd
