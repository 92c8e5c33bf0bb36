#include "daemon/webhook/callback_body.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/quote.h"

namespace digd::daemon {

namespace {

namespace json = boost::json;

constexpr std::string_view zero_width_space = "\xe2\x80\x8b";
constexpr std::size_t most_names = 5;

// At most so many bytes of valid UTF-8, cut between characters.
std::string_view beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

// Control characters and those that reorder text as escapes; quotes and backslashes as they are.
std::string on_one_line(std::string_view text) {
  const std::string escaped = quoted(text);
  std::string out;
  for (std::size_t i = 1; i + 1 < escaped.size(); ++i) {
    const bool is_plain = escaped[i] == '\\' && (escaped[i + 1] == '"' || escaped[i + 1] == '\\');
    if (is_plain) ++i;
    out += escaped[i];
  }
  return out;
}

std::string_view text_at(const json::object& of, std::string_view name) {
  const json::value* found = of.if_contains({name.data(), name.size()});
  const json::string* text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string_view{} : std::string_view(text->data(), text->size());
}

const json::array* array_at(const json::object& of, std::string_view name) {
  const json::value* found = of.if_contains({name.data(), name.size()});
  return found == nullptr ? nullptr : found->if_array();
}

// Our own words (rules, actions) have nothing to escape, but pass the same way.
std::string plain(std::string_view word) { return word.empty() ? "?" : on_one_line(word); }

std::string what_was_done(const json::object& detection) {
  const json::value* healed = detection.if_contains("healed");
  if (healed != nullptr && healed->is_bool() && healed->get_bool())
    return "healed: " + plain(text_at(detection, "healing"));
  const std::string_view cause = text_at(detection, "cause");
  return cause.empty() ? "not healed" : "not healed: " + plain(cause);
}

std::string detection_text(std::string_view run, const json::object& detection) {
  std::string out = "*";
  out.append(plain(text_at(detection, "rule"))).append("* (").append(plain(text_at(detection, "severity")));
  out.append(") in run ").append(slack_code(run)).append(", ").append(what_was_done(detection));
  return out.append("\n").append(slack_code(text_at(detection, "reason")));
}

std::string names(const json::array& items) {
  std::string out;
  for (std::size_t i = 0; i < items.size() && i < most_names; ++i) {
    const json::string* name = items[i].if_string();
    if (name == nullptr) continue;
    out.append(out.empty() ? " for " : ", ").append(slack_code({name->data(), name->size()}));
  }
  if (items.size() > most_names) out += " and " + std::to_string(items.size() - most_names) + " more";
  return out;
}

std::string intervention_text(std::string_view run, const json::object& made) {
  std::string out = "digd intervened in run " + slack_code(run) + ": " + plain(text_at(made, "action"));
  if (const json::array* recipients = array_at(made, "recipients")) out += names(*recipients);
  const json::array* detections = array_at(made, "detections");
  const json::object* first = detections == nullptr || detections->empty() ? nullptr : detections->front().if_object();
  if (first == nullptr) return out;
  return out + ", because of *" + plain(text_at(*first, "rule")) + "*\n" + slack_code(text_at(*first, "reason"));
}

}  // namespace

std::string_view to_string(archive::callback_kind kind) {
  return kind == archive::callback_kind::detection ? "detection" : "intervention";
}

std::string callback_id(std::string_view of_archive, archive::callback_kind kind, std::int64_t row) {
  std::string id(of_archive);
  return id.append("-").append(to_string(kind)).append("-").append(std::to_string(row));
}

std::string generic_body(std::string_view id, archive::callback_kind kind, const archive::callback_text& callback) {
  std::string out = "{\"id\":";
  append_quoted(out, id);
  out += ",\"run\":";
  append_quoted(out, callback.run);
  return out.append(",\"").append(to_string(kind)).append("\":").append(callback.json).append("}");
}

std::string slack_body(archive::callback_kind kind, const archive::callback_text& callback) {
  json::error_code ec;
  const json::value parsed = json::parse(callback.json, ec);
  const json::object* fields = ec ? nullptr : parsed.if_object();
  std::string text = "digd has something to tell of run " + slack_code(callback.run);
  if (fields != nullptr) {
    text = kind == archive::callback_kind::detection ? detection_text(callback.run, *fields)
                                                     : intervention_text(callback.run, *fields);
  }
  std::string out = "{\"text\":";
  append_quoted(out, text);
  return out + '}';
}

std::string slack_code(std::string_view text) {
  const std::string_view taken = beginning(text, most_span_bytes);
  const std::string line = on_one_line(taken);
  std::string out = "`";
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool is_last_of_word = i + 1 == line.size() || line[i + 1] == ' ';
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '`': out += '\''; break;
      // @here, #general, https://…, mailto:…, www.example.com
      case '@':
      case '#':
      case ':':
      case '.':
        out += c;
        if (!is_last_of_word) out += zero_width_space;
        break;
      default: out += c;
    }
  }
  if (taken.empty()) out += "(nothing)";
  if (taken.size() < text.size()) out += "…";
  return out + '`';
}

}  // namespace digd::daemon
