#include "archive/entry.h"

#include <utility>

#include "base/json_writer.h"

namespace digd::archive {

namespace {

std::size_t size_of(const std::optional<std::string>& text) { return text ? text->size() : 0; }

std::size_t held_by(const detection_row& row) {
  return sizeof row + row.rule.size() + row.severity.size() + size_of(row.session) + size_of(row.event) +
         size_of(row.agent) + size_of(row.healing) + size_of(row.cause) + row.reason.size() + row.json.size() +
         size_of(row.subject) + size_of(row.place) + size_of(row.action) + size_of(row.limits) + size_of(row.hold);
}

std::size_t held_by(const intervention_row& row) {
  return sizeof row + row.id.size() + row.action.size() + size_of(row.event) + row.json.size();
}

std::size_t held_by(const outcome_row& row) {
  return sizeof row + row.rule.size() + row.outcome.size() + size_of(row.event);
}

// The texts of most messages.
constexpr std::string entry::*kept_texts[] = {&entry::session, &entry::type, &entry::frame, &entry::verdicts};

}  // namespace

std::string_view to_string(entry_kind kind) {
  switch (kind) {
    case entry_kind::run_opened: return "run_opened";
    case entry_kind::session_joined: return "session_joined";
    case entry_kind::message: return "message";
    case entry_kind::refused: return "refused";
    case entry_kind::firing: return "firing";
    case entry_kind::operator_mode: return "operator_mode";
    case entry_kind::limit: return "limit";
    case entry_kind::semantics: return "semantics";
    case entry_kind::decision: return "decision";
    case entry_kind::run_deleted: return "run_deleted";
    case entry_kind::judgement: return "judgement";
    case entry_kind::barrier: return "barrier";
  }
  return "message";
}

std::optional<entry_kind> entry_kind_from(std::string_view name) {
  for (auto kind : {entry_kind::run_opened, entry_kind::session_joined, entry_kind::message, entry_kind::refused,
                    entry_kind::firing, entry_kind::operator_mode, entry_kind::limit, entry_kind::semantics,
                    entry_kind::decision}) {
    if (to_string(kind) == name) return kind;
  }
  return std::nullopt;
}

bool is_own_line(entry_kind kind) {
  return kind == entry_kind::operator_mode || kind == entry_kind::limit || kind == entry_kind::semantics ||
         kind == entry_kind::decision;
}

void entry::reset() {
  entry fresh;
  for (const auto text : kept_texts) {
    (this->*text).clear();
    (fresh.*text).swap(this->*text);
  }
  *this = std::move(fresh);
}

std::size_t entry::text_capacity() const {
  std::size_t sum = 0;
  for (const auto text : kept_texts) sum += (this->*text).capacity();
  return sum;
}

bool entry::shrink() {
  bool any = verdicts.size() > max_shrunk_bytes;
  if (any) verdicts.clear();
  for (auto& row : detections) {
    if (row.json.size() <= max_shrunk_bytes) continue;
    any = true;
    row.json.clear();
    json_writer(row.json)
        .open_object()
        .key("rule")
        .text(row.rule)
        .key("severity")
        .text(row.severity)
        .key("too_large")
        .boolean(true)
        .close_object();
  }
  for (auto& row : interventions) {
    if (row.json.size() <= max_shrunk_bytes) continue;
    any = true;
    row.json.clear();
    json_writer(row.json)
        .open_object()
        .key("type")
        .text("intervention")
        .key("action")
        .text(row.action)
        .key("too_large")
        .boolean(true)
        .close_object();
  }
  return any;
}

std::size_t plain_entry::bytes() const {
  return sizeof(entry) + session.size() + type.size() + frame.size() + code.size() + verdicts.size() + ended.size() +
         answered.size();
}

void entry::assign(const plain_entry& content) {
  kind = content.kind;
  run_number = content.run_number;
  session = content.session;
  seq = content.seq;
  n = content.n;
  ts = content.ts;
  arrived_ms = content.arrived_ms;
  type = content.type;
  frame = content.frame;
  code = content.code;
  verdicts = content.verdicts;
  only_deliveries = content.only_deliveries;
  if (!content.answered.empty()) answered = content.answered;
  ended = content.ended;
  used = content.used;
}

std::size_t entry::bytes() const {
  std::size_t sum = sizeof *this + run.size() + session.size() + type.size() + frame.size() + code.size() +
                    token.size() + verdicts.size() + size_of(answered) + ended.size();
  for (const auto& row : detections) sum += held_by(row);
  for (const auto& row : interventions) sum += held_by(row);
  for (const auto& row : outcomes) sum += held_by(row);
  if (opinion) sum += sizeof *opinion + opinion->judgement.size() + opinion->judged_by.size();
  return sum;
}

}  // namespace digd::archive
