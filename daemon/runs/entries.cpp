#include "daemon/runs/entries.h"

#include "base/json_writer.h"
#include "daemon/runs/place.h"
#include "ingest/protocol/encode.h"

namespace digd::daemon {

namespace {

using archive::entry_kind;

entry_kind kind_of(ingest::record_kind kind) {
  switch (kind) {
    case ingest::record_kind::message: return entry_kind::message;
    case ingest::record_kind::refused: return entry_kind::refused;
    case ingest::record_kind::firing: return entry_kind::firing;
    case ingest::record_kind::operator_mode: return entry_kind::operator_mode;
    case ingest::record_kind::limit: return entry_kind::limit;
    case ingest::record_kind::decision: return entry_kind::decision;
    case ingest::record_kind::semantics: break;
  }
  return entry_kind::semantics;
}

archive::detection_row row_of(const detection& d) {
  archive::detection_row row;
  row.rule = to_string(d.rule);
  row.severity = to_string(d.severity);
  row.session = d.session;
  row.at = d.at;
  row.ts = d.ts;
  row.event = d.event;
  row.agent = d.agent;
  row.healed = d.healed;
  if (d.healing != action::none) row.healing = to_string(d.healing);
  if (d.cause != cause::none) row.cause = to_string(d.cause);
  row.reason = d.reason;
  ingest::encode_detection(row.json, d, true);
  row.subject = subject_of(d);
  row.place = place_of(d);
  if (d.guard) {
    row.action = to_string(*d.guard);
    json_writer to(row.limits.emplace());
    to.open_array();
    for (const std::string_view limit : d.limits) to.text(limit);
    to.close_array();
  }
  return row;
}

// Of an event that is held, one guard placed the hold; the others that asked for it were superseded.
void note_holds(const digd::answer& answer, std::vector<archive::detection_row>& rows) {
  for (const verdict& v : answer.verdicts) {
    if (v.action != action::hold) continue;
    for (const std::uint32_t d : v.detections) {
      const detection& found = answer.detections[d];
      if (found.healed && found.guard == guard_action::hold) rows[d].hold = "hold:" + std::to_string(v.hold);
    }
  }
}

archive::outcome_row row_of(const outcome_report& o) {
  return {.rule = std::string(to_string(o.rule)),
          .outcome = std::string(to_string(o.outcome)),
          .ts = o.ts,
          .detected_ts = o.detected_ts,
          .event = o.event};
}

}  // namespace

bool has_rows(const ingest::record& record) {
  const digd::answer& found = record.answer;
  return !found.detections.empty() || !found.interventions.empty() || !found.outcomes.empty();
}

archive::plain_entry plain_entry_of(const ingest::record& record) {
  archive::plain_entry e{.kind = kind_of(record.kind),
                         .only_deliveries = !record.event_ids.empty(),
                         .seq = record.seq,
                         .ts = record.ts,
                         .session = record.session,
                         .type = record.type,
                         .frame = record.frame,
                         .verdicts = record.event_ids.empty() ? record.verdicts : record.event_ids,
                         .answered = record.answered,
                         .used = record.used};
  if (record.answer.refused) e.code = to_string(record.answer.refused.code);
  // Keeps the error frame as sent. A refusal line has the same text, so it needs no copy.
  if (record.kind == ingest::record_kind::refused && !record.is_refusal_line) e.verdicts = record.response;
  if (record.ended) e.ended = *record.ended == run_outcome::none ? "unknown" : to_string(*record.ended);
  return e;
}

archive::entry_ptr entry_of(const ingest::record& record) {
  auto made = std::make_unique<archive::entry>();
  archive::entry& e = *made;
  e.assign(plain_entry_of(record));
  for (const detection& d : record.answer.detections) e.detections.push_back(row_of(d));
  note_holds(record.answer, e.detections);
  for (std::size_t i = 0; i < record.answer.interventions.size(); ++i) {
    const intervention& intervention = record.answer.interventions[i];
    e.interventions.push_back({.id = intervention.id,
                               .action = std::string(to_string(intervention.action)),
                               .event = intervention.event,
                               .ts = record.ts,
                               .json = record.interventions[i]});
  }
  for (const outcome_report& o : record.answer.outcomes) e.outcomes.push_back(row_of(o));
  return made;
}

archive::entry_ptr opening_entry(const hello& first, const run_settings& settings, canary_group group) {
  auto made = std::make_unique<archive::entry>();
  archive::entry& e = *made;
  e.kind = entry_kind::run_opened;
  e.run = first.run;
  e.session = first.session;
  e.type = "hello";
  ingest::encode_trace_hello(e.frame, first, settings);
  append_group(e.frame, group);
  return made;
}

archive::entry_ptr joining_entry(const hello& greeting, std::string_view frame) {
  auto made = std::make_unique<archive::entry>();
  archive::entry& e = *made;
  e.kind = entry_kind::session_joined;
  e.session = greeting.session;
  e.type = "hello";
  e.frame = frame;
  return made;
}

}  // namespace digd::daemon
