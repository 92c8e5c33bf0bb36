#include "archive/trace_export.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "base/json_tokens.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace digd::archive {

namespace {

// Calls `take(name, value, member)` for each member of an object: their texts, the name with quotes. Ends when `take`
// returns false.
template <class Take>
void for_each_member(std::string_view object, const Take& take) {
  std::size_t at = skip_json_space(object, 0) + 1;
  while ((at = skip_json_space(object, at)) < object.size() && object[at] == '"') {
    const std::size_t name_end = end_of_string(object, at);
    const std::size_t value = skip_json_space(object, skip_json_space(object, name_end) + 1);  // after the colon
    const std::size_t end = end_of_value(object, value);
    if (end <= value) return;
    const std::string_view member = trimmed(object.substr(at, end - at));
    if (!take(object.substr(at, name_end - at), trimmed(object.substr(value, end - value)), member)) return;
    at = skip_json_space(object, end) + 1;  // after the comma
  }
}

// As a JSON string. `append_quoted` would write `\n` for `\u000a` and escape hidden characters, but an archived run
// must export to the bytes that earlier versions wrote. Names are valid UTF-8, because the decoder checked them.
std::string quoted_session(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
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

// The members that an export puts first.
std::string session_member(const stored_entry& e) {
  std::string out;
  json_writer(out).key("session").raw(quoted_session(e.session));
  return out;
}
std::string session_and_stamp(const stored_entry& e) {
  std::string out;
  json_writer(out).key("session").raw(quoted_session(e.session)).key("ts").integer(e.ts);
  return out;
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
  std::string out;
  json_writer to(out);
  to.open_object();
  if (!members.empty()) to.raw(members);
  for_each_member(object, [&](std::string_view name, std::string_view, std::string_view member) {
    const bool stays = std::none_of(drop.begin(), drop.end(), [&](std::string_view d) { return string_is(name, d); });
    if (stays) to.raw(member);
    return true;
  });
  to.close_object();
  return out;
}

std::string_view member_of(std::string_view object, std::string_view name) {
  std::string_view found;
  for_each_member(object, [&](std::string_view at, std::string_view value, std::string_view) {
    if (!string_is(at, name)) return true;
    found = value;
    return false;
  });
  return found;
}

void trace_export::take(const stored_entry& e) {
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
      to_(on_one_line(
          with_members(e.frame, session_member(e), {"session", "mode", "clock", "rules", "limits", "healing"})));
      return;
    case entry_kind::message:
    case entry_kind::refused: break;
  }
  // A frame that was refused before it reached the engine keeps its `ts`, which may be the reason for the refusal. Its
  // line then lacks its arrival time. Rows of both forms have the same kind and type; only the stored text tells them
  // apart. digd never stores a received frame of type `refused` (ingest/protocol/inbox.cpp).
  const bool is_refusal_line = e.kind == entry_kind::refused && member_of(e.frame, "type") == "\"refused\"";
  if (is_refusal_line) return take_refusal_line(e);
  const bool unread =
      e.kind == entry_kind::refused && (e.code == "bad_message" || e.code == "bad_json" || e.code == "too_large");
  fired_since_ = unread && stamped_;
  last_firing_ts_ = e.ts;
  if (e.session == first_session_) first_session_seq_ = e.seq;
  to_(on_one_line(unread ? with_members(e.frame, session_member(e), {"session"})
                         : with_members(e.frame, session_and_stamp(e), {"session", "ts"})));
}

// The line has its stamp, so windows that fired then fire again in a replay. Lines of older archives had no code.
void trace_export::take_refusal_line(const stored_entry& e) {
  fired_since_ = false;
  last_firing_ts_ = e.ts;
  if (e.session == first_session_) first_session_seq_ = e.seq;
  std::string members;
  json_writer to(members);
  to.raw(session_and_stamp(e));
  if (member_of(e.frame, "code").empty()) to.key("code").text(e.code);
  to_(with_members(e.frame, members, {"session", "ts"}));
}

void trace_export::finish() {
  if (!fired_since_) return;
  std::string line;
  json_writer time(line);
  time.open_object().key("type").text("time").key("session").raw(quoted_session(first_session_));
  time.key("seq").integer(first_session_seq_ + 1).key("ts").integer(last_firing_ts_).close_object();
  to_(line);
}

}  // namespace digd::archive
