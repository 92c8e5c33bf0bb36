#include "archive/trace_export.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/hex.h"
#include "base/json_writer.h"

namespace digd::archive {

namespace {

// The end of the JSON value or key that begins at `at`; skips strings and nested values.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  int depth = 0;
  for (bool in_string = false; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      --depth;
    } else if ((c == ',' || c == ':') && depth == 0) {
      return at;
    }
  }
  return at;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t from = text.find_first_not_of(space);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(space) - from + 1);
}

// A key with its JSON escapes decoded, for keys of ASCII letters only: "t\u0073" is "ts".
std::string plain_key(std::string_view key) {
  std::string out;
  for (std::size_t i = 0; i < key.size(); ++i) {
    unsigned code = 0;
    const char* const end = key.data() + std::min(key.size(), i + 6);
    if (key.substr(i, 2) == "\\u" && std::from_chars(key.data() + i + 2, end, code, 16).ptr == end && code < 0x80) {
      out += static_cast<char>(code);
      i += 5;
    } else {
      out += key[i];
    }
  }
  return out;
}

void add_member(std::string& out, std::string_view member) {
  if (member.empty()) return;
  if (out.size() > 1) out += ',';
  out += member;
}

std::string session_member(std::string_view session_name) {
  // Session names are JSON text already checked; only these need an escape here.
  std::string out = "\"session\":\"";
  for (const char c : session_name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      append_hex(out, byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

// Puts the text on one line. In valid JSON, control characters occur only between tokens, as white space.
std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}

std::string with_members(std::string_view object, std::string_view members,
                         std::initializer_list<std::string_view> drop) {
  std::string out = "{";
  add_member(out, members);
  object = trimmed(object);
  for (std::size_t at = 1; at + 1 < object.size();) {
    const std::size_t colon = end_of_value(object, at);
    const std::size_t end = end_of_value(object, colon + 1);
    std::string_view key = trimmed(object.substr(at, colon - at));
    if (key.size() >= 2) key = key.substr(1, key.size() - 2);
    if (std::find(drop.begin(), drop.end(), plain_key(key)) == drop.end()) {
      add_member(out, trimmed(object.substr(at, end - at)));
    }
    at = end + 1;
  }
  return out + '}';
}

std::string_view member_of(std::string_view object, std::string_view name) {
  object = trimmed(object);
  for (std::size_t at = 1; at + 1 < object.size();) {
    const std::size_t colon = end_of_value(object, at);
    const std::size_t end = end_of_value(object, colon + 1);
    std::string_view key = trimmed(object.substr(at, colon - at));
    if (key.size() >= 2) key = key.substr(1, key.size() - 2);
    if (plain_key(key) == name) return trimmed(object.substr(colon + 1, end - colon - 1));
    at = end + 1;
  }
  return {};
}

void trace_export::take(const stored_entry& e) {
  const std::string stamp = "\"ts\":" + std::to_string(e.ts);
  const bool follows_opening = std::exchange(just_opened_, e.kind == entry_kind::run_opened);
  switch (e.kind) {
    case entry_kind::run_opened:
      first_session_ = e.session;
      stamped_ = member_of(e.frame, "stamped") == "true";
      to_(e.frame);
      return;
    case entry_kind::operator_mode:
    case entry_kind::limit:
    case entry_kind::semantics:
    case entry_kind::decision: to_(e.frame); return;
    case entry_kind::run_deleted:
    case entry_kind::judgement:
    case entry_kind::barrier: return;  // is never stored
    case entry_kind::firing:
      fired_since_ = true;
      last_firing_ts_ = e.ts;
      return;
    case entry_kind::session_joined:
      // The opening is the first session's hello with the effective settings. That session's own hello follows it,
      // unless the daemon was killed in between.
      if (follows_opening && (first_session_.empty() || e.session == first_session_)) {
        first_session_ = e.session;
        return;
      }
      to_(on_one_line(with_members(e.frame, session_member(e.session),
                                   {"session", "mode", "clock", "rules", "limits", "healing"})));
      return;
    case entry_kind::message:
    case entry_kind::refused: break;
  }
  // A frame that was refused before it reached the engine keeps its `ts`, which may be the reason for the refusal. Its
  // line then does not show the time that passed with it.
  const bool is_refusal_line = e.kind == entry_kind::refused && member_of(e.frame, "type") == "\"refused\"";
  if (is_refusal_line) return take_refusal_line(e, stamp);
  const bool unread =
      e.kind == entry_kind::refused && (e.code == "bad_message" || e.code == "bad_json" || e.code == "too_large");
  fired_since_ = unread && stamped_;
  last_firing_ts_ = e.ts;
  if (e.session == first_session_) first_session_seq_ = e.seq;
  to_(on_one_line(unread ? with_members(e.frame, session_member(e.session), {"session"})
                         : with_members(e.frame, session_member(e.session) + ',' + stamp, {"session", "ts"})));
}

// The line has its stamp, so windows that fired then fire again in a replay. Lines of older archives had no code.
void trace_export::take_refusal_line(const stored_entry& e, const std::string& stamp) {
  fired_since_ = false;
  last_firing_ts_ = e.ts;
  if (e.session == first_session_) first_session_seq_ = e.seq;
  const bool has_code = !member_of(e.frame, "code").empty();
  const std::string code = has_code ? std::string() : ",\"code\":\"" + e.code + '"';
  to_(with_members(e.frame, session_member(e.session) + ',' + stamp + code, {"session", "ts"}));
}

void trace_export::finish() {
  if (!fired_since_) return;
  std::string line;
  json_writer time(line);
  time.open_object().key("seq").integer(first_session_seq_ + 1).key("ts").integer(last_firing_ts_).close_object();
  to_(with_members(line, "\"type\":\"time\"," + session_member(first_session_), {}));
}

}  // namespace digd::archive
