#include "daemon/fleet/stream_entry.h"

#include <boost/json.hpp>

#include "archive/detection_text.h"
#include "archive/verdict_text.h"
#include "ingest/protocol/decode.h"

namespace digd::daemon {

namespace {

namespace json = boost::json;

std::string text(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::optional<std::string> text_or_none(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return std::string(found->get_string());
}

template <class Number = std::uint64_t>
std::optional<Number> number(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  boost::system::error_code ec;
  const Number value = found->to_number<Number>(ec);
  return ec ? std::nullopt : std::optional(value);
}

const json::array& list(const json::object& from, std::string_view name) {
  static const json::array none;
  const json::value* found = from.if_contains(name);
  return found != nullptr && found->is_array() ? found->get_array() : none;
}

archive::detection_row detection_of(const json::object& from) {
  archive::detection_row row;
  row.rule = text(from, "rule");
  row.severity = text(from, "severity");
  row.session = text_or_none(from, "session");
  row.at = number(from, "at");
  row.ts = number<std::int64_t>(from, "ts").value_or(0);
  row.event = text_or_none(from, "event");
  row.agent = text_or_none(from, "agent");
  row.healed = number(from, "healed").value_or(0) != 0;
  row.healing = text_or_none(from, "healing");
  row.cause = text_or_none(from, "cause");
  row.subject = text_or_none(from, "subject");
  row.place = text_or_none(from, "place");
  row.action = text_or_none(from, "action");
  row.limits = text_or_none(from, "limits");
  row.hold = text_or_none(from, "hold");
  row.json = archive::join_detection(text(from, "detection"), text(from, "more_evidence"));
  return row;
}

void add_rows(const json::object& from, archive::entry& to) {
  for (const json::value& item : list(from, "detections")) {
    if (item.is_object()) to.detections.push_back(detection_of(item.get_object()));
  }
  for (const json::value& item : list(from, "interventions")) {
    if (!item.is_object()) continue;
    const json::object& row = item.get_object();
    to.interventions.push_back({.id = text(row, "id"),
                                .action = text(row, "action"),
                                .event = text_or_none(row, "event"),
                                .ts = number<std::int64_t>(row, "ts").value_or(0),
                                .json = text(row, "intervention")});
  }
  for (const json::value& item : list(from, "outcomes")) {
    if (!item.is_object()) continue;
    const json::object& row = item.get_object();
    to.outcomes.push_back({.rule = text(row, "rule"),
                           .outcome = text(row, "outcome"),
                           .ts = number<std::int64_t>(row, "ts").value_or(0),
                           .detected_ts = number<std::int64_t>(row, "detected_ts").value_or(0),
                           .event = text_or_none(row, "event")});
  }
}

// Plain deliveries are stored as an entry has them. Other stored verdicts refer to detections by the numbers of the
// archive that published them, so these become the frame as it was sent.
bool add_verdicts(const json::object& from, archive::entry& to) {
  const std::string stored = text(from, "verdicts");
  if (stored.empty()) return true;
  to.only_deliveries = archive::is_deliveries(stored);
  if (to.only_deliveries) {
    to.verdicts = stored;
    return true;
  }
  const json::array& rows = list(from, "detections");
  const auto whole = [&](std::int64_t id) -> std::optional<std::string> {
    for (std::size_t i = 0; i < rows.size() && i < to.detections.size(); ++i) {
      if (rows[i].is_object() && number<std::int64_t>(rows[i].get_object(), "id") == id) return to.detections[i].json;
    }
    return std::nullopt;
  };
  const auto frame = archive::expand_verdicts(stored, to.seq, whole);
  if (!frame) return false;
  to.verdicts = *frame;
  return true;
}

// Restores the rows that the archive keeps besides a message: its detections, answers and outcomes.
void add_meaning(archive::entry& to) {
  if (to.kind != archive::entry_kind::message) return;
  ingest::decoder decoder;
  message read;
  if (decoder.decode(to.frame, read).refused) return;
  to.used = read.usage;
  if (read.type == message_type::delivery && (read.of || read.event)) to.answered = read.of ? *read.of : *read.event;
  if (read.type == message_type::run_ended) {
    to.ended = read.outcome == run_outcome::none ? "unknown" : to_string(read.outcome);
  }
}

}  // namespace

stream_line stream_message_fields::line() const {
  const auto view = [&](std::string_view name) -> std::string_view {
    const json::value* found = fields.if_contains(name);
    return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
  };
  const std::string_view kind = view("kind");
  return {.is = kind == "run_moved"     ? stream_line::kind::run_moved
                : kind == "run_deleted" ? stream_line::kind::run_deleted
                                        : stream_line::kind::entry,
          .archive = archive,
          .run = view("run"),
          .number = number(fields, "run_number").value_or(0),
          .n = number(fields, "n").value_or(0),
          .epoch = number(fields, "epoch").value_or(1),
          .origin_archive = view("origin_archive"),
          .origin_number = number(fields, "origin_run_number").value_or(0)};
}

std::optional<stream_message_fields> read_stream_message(std::string_view id, std::string_view body) {
  boost::system::error_code ec;
  json::value parsed = json::parse(body, ec);
  const std::size_t end = id.find(':');
  if (ec || !parsed.is_object() || end == std::string_view::npos) return std::nullopt;
  if (number(parsed.get_object(), "format") != 1) return std::nullopt;
  return stream_message_fields{std::move(parsed.get_object()), std::string(id.substr(0, end))};
}

archive::entry_ptr entry_of(const stream_message_fields& message, std::string& problem) {
  const json::object& from = message.fields;
  const auto kind = archive::entry_kind_from(text(from, "kind"));
  const json::value* cut = from.if_contains("cut");
  if (!kind) problem = "an entry has a kind that this digd does not know";
  if (cut != nullptr && cut->is_bool() && cut->get_bool()) problem = "an entry was too large for the stream";
  if (!problem.empty()) return nullptr;
  auto made = std::make_unique<archive::entry>();
  archive::entry& e = *made;
  e.kind = *kind;
  if (e.kind == archive::entry_kind::run_opened) e.run = text(from, "run");
  e.session = text(from, "session");
  e.seq = number(from, "seq").value_or(0);
  e.n = number(from, "n").value_or(0);
  e.ts = number<std::int64_t>(from, "ts").value_or(0);
  e.arrived_ms = number<std::int64_t>(from, "arrived_ms").value_or(0);
  e.type = text(from, "type");
  e.frame = text(from, "frame");
  e.code = text(from, "code");
  e.token = text(from, "token");
  add_rows(from, e);
  if (!add_verdicts(from, e)) {
    problem = "the verdicts of an entry refer to detections that it lacks";
    return nullptr;
  }
  add_meaning(e);
  return made;
}

}  // namespace digd::daemon
