#include "daemon/feed/frames.h"

#include "engine/quote.h"

namespace digd::daemon {

namespace {

int hex_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Behind the string that begins at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// Behind the value that begins at `at`.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    }
    if (c == ',' && depth == 0) return at;
    ++at;
  }
  return at;
}

// Whether a name as written, with its quotes, is `payload`: it may be escaped.
bool says_payload(std::string_view name) {
  constexpr std::string_view word = "payload";
  name = name.substr(1, name.size() < 2 ? 0 : name.size() - 2);
  std::size_t at = 0;
  for (const char expected : word) {
    if (at >= name.size()) return false;
    if (name[at] != '\\') {
      if (name[at++] != expected) return false;
      continue;
    }
    if (at + 5 >= name.size() || name[at + 1] != 'u') return false;
    int code = 0;
    for (std::size_t i = 2; i < 6; ++i) code = code * 16 + hex_of(name[at + i]);
    if (code != expected) return false;
    at += 6;
  }
  return at == name.size();
}

class frame_maker {
 public:
  frame_maker(const archive::watched_entry& of, std::vector<std::string>& out) : of_(of), out_(out) {}

  // `members` is JSON, without the braces.
  void add(std::string_view type, std::string_view members) {
    std::string& frame = out_.emplace_back("{\"type\":\"");
    frame.append(type).append("\",\"seq\":").append(std::to_string(of_.id)).append(",\"run\":");
    append_quoted(frame, of_.run);
    if (!of_.session.empty()) {
      frame += ",\"session\":";
      append_quoted(frame, of_.session);
    }
    frame.append(",\"ts\":").append(std::to_string(of_.ts)).append(",").append(members).append("}");
  }

  void add_verdicts() {
    if (of_.verdicts.empty()) return;
    std::string members = "\"of\":" + std::to_string(of_.seq) + ",\"verdicts\":";
    if (of_.verdicts.starts_with('[')) {  // events that were delivered as they are, each by its id
      members += '[';
      std::string_view rest(of_.verdicts);
      for (std::size_t at = rest.find('"'); at < rest.size(); at = rest.find('"', at)) {
        const std::size_t end = end_of_string(rest, at);
        if (members.back() == '}') members += ',';
        members.append("{\"event\":").append(rest.substr(at, end - at)).append(",\"action\":\"deliver\"}");
        at = end;
      }
      members += ']';
    } else {
      constexpr std::string_view before = "\"verdicts\":[";
      const std::size_t at = of_.verdicts.find(before);
      if (at == std::string::npos) return;
      members += std::string_view(of_.verdicts).substr(at + before.size() - 1);
      members.pop_back();  // the frame's own brace
    }
    add("verdicts", members);
  }

  void add_outcome(const archive::outcome_row& row) {
    std::string members = "\"outcome\":{\"rule\":";
    append_quoted(members, row.rule);
    members += ",\"ts\":" + std::to_string(row.ts) + ",\"event\":";
    if (row.event) {
      append_quoted(members, *row.event);
    } else {
      members += "null";
    }
    members += ",\"detected_ts\":" + std::to_string(row.detected_ts) + ",\"outcome\":";
    append_quoted(members, row.outcome);
    add("outcome", members + '}');
  }

 private:
  const archive::watched_entry& of_;
  std::vector<std::string>& out_;
};

}  // namespace

std::string without_payloads(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::string open;                 // the brackets around
  bool name_next = false;           // in an object, before a name
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = end_of_string(text, at);
      if (name_next && says_payload(text.substr(at, end - at))) {
        const std::size_t colon = skip_space(text, end);
        at = skip_space(text, end_of_value(text, skip_space(text, colon + 1)));
        if (at < text.size() && text[at] == ',') {
          at = skip_space(text, at + 1);  // the next name takes its place
          continue;
        }
        while (!out.empty() && is_space(out.back())) out.pop_back();
        if (!out.empty() && out.back() == ',') out.pop_back();
        name_next = false;
        continue;
      }
      out.append(text.substr(at, end - at));
      name_next = false;
      at = end;
      continue;
    }
    if (c == '{' || c == '[') open += c;
    if ((c == '}' || c == ']') && !open.empty()) open.pop_back();
    name_next = c == '{' || (c == ',' && !open.empty() && open.back() == '{') || (name_next && is_space(c));
    out += c;
    ++at;
  }
  return out;
}

std::vector<std::string> feed_frames(const archive::watched_entry& of, bool with_payloads) {
  std::vector<std::string> out;
  frame_maker make(of, out);
  if (of.kind == archive::entry_kind::message) {
    const bool is_delivery = of.type == "delivery";
    const std::string members = is_delivery ? "\"delivery\":" : "\"message\":";
    make.add(is_delivery ? "delivery" : "message", members + (with_payloads ? of.frame : without_payloads(of.frame)));
  } else if (of.kind == archive::entry_kind::operator_mode) {
    make.add("operator_mode", "\"operator_mode\":" + of.frame);
  }
  for (const std::string& one : of.detections) make.add("detection", "\"detection\":" + one);
  make.add_verdicts();
  for (const std::string& one : of.interventions) make.add("intervention", "\"intervention\":" + one);
  for (const archive::outcome_row& one : of.outcomes) make.add_outcome(one);
  if (!out.empty()) {
    out.back().pop_back();
    out.back() += ",\"last\":true}";
  }
  return out;
}

}  // namespace digd::daemon
