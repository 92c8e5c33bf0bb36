#include "report/stored_runs/run_json.h"

#include <algorithm>
#include <optional>

#include "base/quote.h"
#include "ingest/protocol/decode.h"
#include "model/settings.h"
#include "report/stored_runs/json_text.h"

namespace digd::stored {

namespace {

// What a run was opened with, and how far the operator let it go.
struct opened_with {
  digd::mode mode = digd::mode::enforce, operators = digd::mode::enforce;
  std::optional<limit_id> unjudged;  // the limit that stopped the judging
  hello asked;

  digd::mode effective(rule_id id) const {
    return std::min({mode, operators, asked.rules[index_of(id)].mode.value_or(digd::mode::enforce)});
  }
};

opened_with settings_of(const archive::run_tally& tally) {
  thread_local ingest::decoder decoder;
  opened_with out;
  if (!decoder.decode_hello(tally.hello, out.asked)) out.mode = out.asked.mode.value_or(mode::enforce);
  if (const auto line = decoder.own_line_of(tally.operator_mode)) out.operators = line->strongest;
  if (const auto line = decoder.own_line_of(tally.unjudged)) out.unjudged = line->limit;
  return out;
}

// The members that a run has in the list and by itself.
void append_members(std::string& out, const archive::run_row& run, const archive::run_tally& tally,
                    const opened_with& opened_with) {
  append_text(out, "run", run.run);
  append_number(out, "number", static_cast<std::int64_t>(run.number));
  append_text(out, "state", run.ended.empty() ? "open" : "ended");
  append_text(out, "mode", to_string(opened_with.mode));
  append_text(out, "operator_mode", to_string(opened_with.operators));
  append_text_or_null(out, "unjudged",
                      opened_with.unjudged ? to_string(*opened_with.unjudged) : std::string_view());
  append_number(out, "opened_ms", run.opened_ms);
  append_number_or_null(out, "last_ts", run.last_ts);
  append_text_or_null(out, "ended", run.ended);
  append_number_or_null(out, "ended_ms", run.ended_ms);
  append_number_or_null(out, "heard_ms", run.heard_ms);
  append_number(out, "bytes", static_cast<std::int64_t>(run.bytes));
  append_member(out, "counts");
  out += '{';
  append_number(out, "messages", static_cast<std::int64_t>(tally.messages));
  append_number(out, "refused", static_cast<std::int64_t>(tally.refused));
  append_number(out, "detections", static_cast<std::int64_t>(tally.detections));
  append_number(out, "healed", static_cast<std::int64_t>(tally.healed));
  out += '}';
}

void append_counts(std::string& out, const std::vector<archive::detection_count>& counts) {
  append_member(out, "detections");
  out += '[';
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& item = counts[i];
    out.append(i == 0 ? "{" : ",{");
    append_text_or_null(out, "rule", item.rule);
    append_bool(out, "healed", item.healed);
    append_text_or_null(out, "healing", item.healing);
    append_text_or_null(out, "cause", item.cause);
    append_text_or_null(out, "outcome", item.outcome);
    append_number(out, "count", static_cast<std::int64_t>(item.count));
    out += '}';
  }
  out += ']';
  // What was not healed for the mode alone, and would have been: the summary before a rule is let off its leash.
  append_member(out, "would_have");
  out += '[';
  bool first = true;
  for (const auto& detection_count : counts) {
    if (detection_count.healed || detection_count.cause != "mode" || detection_count.healing.empty()) continue;
    out.append(first ? "{" : ",{");
    first = false;
    append_text_or_null(out, "rule", detection_count.rule);
    append_text_or_null(out, "healing", detection_count.healing);
    append_number(out, "count", static_cast<std::int64_t>(detection_count.count));
    out += '}';
  }
  out += ']';
}

}  // namespace

void append_run(std::string& out, const archive::run_row& run, const archive::run_tally& tally) {
  out += '{';
  append_members(out, run, tally, settings_of(tally));
  out += '}';
}

void append_run_details(std::string& out, const archive::run_row& row, const archive::run_tally& tally,
                        const std::vector<archive::detection_count>& counts) {
  const opened_with opening = settings_of(tally);
  out += '{';
  append_members(out, row, tally, opening);
  out += ",\"rules\":{";
  for (std::size_t i = 0; i < rule_count; ++i) {
    out.append(i == 0 ? "\"" : ",\"").append(rule_names[i]).append("\":\"");
    out.append(to_string(opening.effective(static_cast<rule_id>(i)))).append("\"");
  }
  out += "},\"sessions\":[";
  for (std::size_t i = 0; i < tally.sessions.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, tally.sessions[i]);
  }
  out += "],\"labels\":{";
  for (std::size_t i = 0; i < opening.asked.labels.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, opening.asked.labels[i].first);
    out += ':';
    append_quoted(out, opening.asked.labels[i].second);
  }
  out += '}';
  append_counts(out, counts);
  out.append(",\"settings\":").append(tally.hello.empty() ? "null" : tally.hello);
  out += '}';
}

}  // namespace digd::stored
