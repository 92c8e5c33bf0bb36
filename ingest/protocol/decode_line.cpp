// Decodes the lines of records and traces that are not messages of clients: refused lines and digd's own lines.
#include <array>
#include <optional>

#include "healing/holds.h"
#include "ingest/protocol/decode.h"
#include "ingest/protocol/decoder_state.h"

namespace digd::ingest {

namespace {

// The line that replaces a refused frame.
struct refused_fields {
  frame_reader& in;
  refused_line& out;
  std::optional<refusal> code = std::nullopt;

  bool type(item& it) {
    const auto refused = [](std::string_view name) {
      return name == "refused" ? std::optional<bool>{true} : std::nullopt;
    };
    bool is_refused = false;
    return in.choice(it, refused, "must be refused", is_refused);
  }
  bool seq(item& it) { return in.count(it, out.seq); }
  bool ts(item& it) { return in.whole_number(it, out.ts); }
  bool reason(item& it) { return in.choice(it, refusal_from, "must be an error code", code); }
  bool field(item& it) { return in.string(it, 0, frame_reader::any_length, out.note.field); }
  bool message(item& it) { return in.string(it, 0, frame_reader::any_length, out.note.text); }

  static constexpr std::array<known_field<refused_fields>, 6> fields{{
      {"type", &refused_fields::type, ~0u, ~0u},
      {"seq", &refused_fields::seq, ~0u, ~0u},
      {"ts", &refused_fields::ts},
      {"code", &refused_fields::reason, ~0u, ~0u},
      {"field", &refused_fields::field},
      {"message", &refused_fields::message},
  }};
};

std::optional<record_kind> own_kind_from(std::string_view name) {
  const line_type type = line_type_from(name);
  if (type == line_type::operator_mode) return record_kind::operator_mode;
  if (type == line_type::limit) return record_kind::limit;
  if (type == line_type::semantics) return record_kind::semantics;
  if (type == line_type::decision) return record_kind::decision;
  return std::nullopt;
}

struct own_fields {
  frame_reader& in;
  own_line& out;
  std::optional<digd::mode> strongest = std::nullopt;
  std::optional<limit_id> hit = std::nullopt;
  std::optional<hold_end> ending = std::nullopt;

  bool type(item& it) {
    return in.choice(it, own_kind_from, "must be operator_mode, limit, semantics or decision", out.kind);
  }
  bool ts(item& it) { return in.whole_number(it, out.ts); }
  bool mode(item& it) { return in.choice(it, mode_from, "must be off, observe, shadow or enforce", strongest); }
  bool limit(item& it) { return in.choice(it, limit_from, "must be a limit", hit); }
  bool version(item& it) { return in.count(it, out.version); }
  bool hold(item& it) {
    return in.choice(
        it, [](std::string_view id) { return number_in(id, "hold:"); }, "must be hold:N", out.hold);
  }
  bool decision(item& it) { return in.choice(it, hold_end_from, "must be release or return", ending); }
  bool text(item& it) { return in.string(it, 0, frame_reader::any_length, out.text); }
  bool by(item& it) { return in.string(it, 0, frame_reader::any_length, out.by); }
  // The policy of judging_work is `deliver`, which no other limit has.
  bool policy(item& it) {
    std::string_view text;
    if (!in.string(it, 0, frame_reader::any_length, text)) return false;
    out.policy = policy_from(text);
    out.resumes = text == resume_word;
    return true;
  }

  static constexpr std::array<known_field<own_fields>, 10> fields{{
      {"type", &own_fields::type, ~0u, ~0u},
      {"ts", &own_fields::ts, ~0u, ~0u},
      {"mode", &own_fields::mode},
      {"limit", &own_fields::limit},
      {"policy", &own_fields::policy},
      {"version", &own_fields::version},
      {"hold", &own_fields::hold},
      {"decision", &own_fields::decision},
      {"text", &own_fields::text},
      {"by", &own_fields::by},
  }};
};

// Reads all fields of a line; false: it is not a JSON object, or a field is wrong. Not inline, or GCC warns of fields
// that it takes for uninitialized.
template <class Fields>
[[gnu::noinline]] bool read_line(frame_reader& in, std::string_view line, Fields& fields) {
  refusal_note wrong;
  item root;
  bool is_object = false;
  return in.open(line, wrong) && in.root(root, is_object) && is_object && in.each_known(root, fields) && in.end() &&
         !wrong;
}

bool is_json(frame_reader& in, std::string_view line) {
  refusal_note ignored;
  item root;
  bool is_object = false;
  return in.open(line, ignored) && in.root(root, is_object) && is_object && in.skip(root) && in.end();
}

}  // namespace

line_type line_type_from(std::string_view type) {
  if (type == "hello") return line_type::hello;
  if (type == "refused") return line_type::refused;
  if (type == "operator_mode") return line_type::operator_mode;
  if (type == "limit") return line_type::limit;
  if (type == "semantics") return line_type::semantics;
  if (type == "decision") return line_type::decision;
  return line_type::message;
}

line_header decoder::header_of(std::string_view line) {
  frame_reader& in = state_->reader;
  line_header out;
  refusal_note ignored;
  std::optional<std::string_view> type, session;
  if (!in.open(line, ignored)) return out;
  bool is_open = in.peek("type", type);
  if (is_open && type) out.type = line_type_from(*type);
  if (out.type == line_type::hello) {
    if (is_json(in, line)) return out;
    out.type = line_type::message;
    is_open = false;
  }
  // The session may come before the invalid part of the line.
  if (!is_open && !in.open(line, ignored)) return out;
  if (!in.peek("session", session) || !session) return out;
  out.session = *session;
  if (is_own_line(out.type)) out.type = line_type::message;
  return out;
}

std::optional<refused_line> decoder::refused_line_of(std::string_view line) {
  refused_line out;
  refused_fields fields{state_->reader, out};
  if (!read_line(state_->reader, line, fields) || !fields.code) return std::nullopt;
  out.note.code = *fields.code;
  return out;
}

std::optional<own_line> decoder::own_line_of(std::string_view line) {
  own_line out;
  own_fields fields{state_->reader, out};
  if (!read_line(state_->reader, line, fields)) return std::nullopt;
  switch (out.kind) {
    case record_kind::operator_mode:
      if (!fields.strongest) return std::nullopt;
      out.strongest = *fields.strongest;
      return out;
    case record_kind::limit:
      if (!fields.hit) return std::nullopt;
      out.limit = *fields.hit;
      if (out.limit == limit_id::judging_work) {
        out.policy.reset();
      } else if (!out.policy && !out.resumes) {
        return std::nullopt;
      }
      return out;
    case record_kind::decision:
      if (!fields.ending || out.hold == 0) return std::nullopt;
      out.decision = *fields.ending;
      return out;
    default: return out;
  }
}

}  // namespace digd::ingest
