#include "ingest/protocol/effects.h"

#include <utility>

namespace digd::ingest {

std::string_view to_string(record_kind kind) {
  switch (kind) {
    case record_kind::message: return "message";
    case record_kind::refused: return "refused";
    case record_kind::firing: return "firing";
    case record_kind::operator_mode: return "operator_mode";
    case record_kind::limit: return "limit";
    case record_kind::decision: return "decision";
    case record_kind::semantics: break;
  }
  return "semantics";
}

void record::clear() {
  kind = record_kind::message;
  session = {};
  seq = 0;
  ts = 0;
  message.reset();
  type = frame = verdicts = {};
  event_ids.clear();
  answer.clear();
  interventions.clear();
  answered.clear();
  ended.reset();
  limit.reset();
  policy.reset();
  resumes = is_refusal_line = false;
  strongest.reset();
  used.reset();
  response.clear();
  kept_frame.clear();
}

void effects::clear() {
  list_.clear();
  if (!texts_.empty()) texts_.clear();
  used_ = 0;
  if (items_.size() > max_spare_items) items_.resize(max_spare_items);
}

record& effects::draft() {
  if (used_ == items_.size()) items_.push_back(std::make_unique<record>());
  record& next = *items_[used_];
  next.clear();
  return next;
}

void effects::keep(record& drafted) {
  ++used_;
  list_.push_back({.action = effect::action::keep, .item = &drafted});
}

void effects::send(session_index to, frame_type type, std::string_view frame, refusal code) {
  list_.push_back({.action = effect::action::send, .session = to, .type = type, .frame = frame, .code = code});
}

void effects::acknowledge(session_index session) {
  list_.push_back({.action = effect::action::acknowledge, .session = session});
}

}  // namespace digd::ingest
