#include "report/stored_runs/feed_frames.h"

#include <optional>
#include <string_view>

#include "archive/trace_export.h"
#include "base/json_writer.h"
#include "ingest/protocol/payloads.h"

namespace digd::stored {

namespace {

struct feed_frame {
  std::string_view type;
  std::string json;                 // the value of the member of that name
  std::optional<std::uint64_t> of;  // of verdicts: the message's seq
};

std::string outcome_json(const archive::outcome_row& row) {
  std::string out;
  json_writer to(out);
  to.open_object().key("rule").text(row.rule).key("ts").integer(row.ts).key("event");
  row.event ? to.text(*row.event) : to.null();
  to.key("detected_ts").integer(row.detected_ts).key("outcome").text(row.outcome).close_object();
  return out;
}

std::vector<feed_frame> frames_of(const archive::watched_entry& entry, bool with_payloads) {
  std::vector<feed_frame> out;
  if (entry.kind == archive::entry_kind::message) {
    out.push_back({.type = entry.type == "delivery" ? "delivery" : "message",
                   .json = with_payloads ? entry.frame : ingest::without_payloads(entry.frame)});
  } else if (archive::is_own_line(entry.kind)) {
    out.push_back({.type = entry.type, .json = entry.frame});
  }
  for (const std::string& detection : entry.detections) out.push_back({.type = "detection", .json = detection});
  if (const std::string_view verdicts = archive::member_of(entry.verdicts, "verdicts"); !verdicts.empty()) {
    out.push_back({.type = "verdicts", .json = std::string(verdicts), .of = entry.seq});
  }
  for (const std::string& intervention : entry.interventions) {
    out.push_back({.type = "intervention", .json = intervention});
  }
  for (const archive::outcome_row& row : entry.outcomes) {
    out.push_back({.type = "outcome", .json = outcome_json(row)});
  }
  return out;
}

}  // namespace

std::vector<std::string> feed_frames(const archive::watched_entry& entry, bool with_payloads) {
  const std::vector<feed_frame> frames = frames_of(entry, with_payloads);
  std::vector<std::string> out;
  for (const feed_frame& frame : frames) {
    json_writer to(out.emplace_back());
    to.open_object().key("type").text(frame.type).key("seq").integer(entry.id).key("run").text(entry.run);
    if (!entry.session.empty()) to.key("session").text(entry.session);
    to.key("ts").integer(entry.ts);
    if (frame.of) to.key("of").integer(*frame.of);
    to.key(frame.type).raw(frame.json);
    if (&frame == &frames.back()) to.key("last").boolean(true);
    to.close_object();
  }
  return out;
}

}  // namespace digd::stored
