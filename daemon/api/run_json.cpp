#include "daemon/api/run_json.h"

#include <algorithm>
#include <optional>

#include "daemon/api/json_text.h"
#include "engine/quote.h"
#include "engine/settings.h"
#include "ingest/decode.h"
#include "ingest/inbox.h"

namespace digd::daemon {

namespace {

// What a run was opened with, and how far the operator let it go.
struct opened_with {
  mode how = mode::enforce, operators = mode::enforce;
  hello asked;

  mode effective(rule_id id) const {
    return std::min({how, operators, asked.rules[index_of(id)].how.value_or(mode::enforce)});
  }
};

opened_with settings_of(const archive::run_tally& tally) {
  thread_local ingest::decoder decoder;
  opened_with out;
  if (!decoder.decode_hello(tally.hello, out.asked)) out.how = out.asked.how.value_or(mode::enforce);
  if (!tally.operator_mode.empty()) {
    out.operators = ingest::operator_mode_of(tally.operator_mode).value_or(mode::enforce);
  }
  return out;
}

// The members that a run has in the list and by itself.
void append_members(std::string& out, const archive::run_row& run, const archive::run_tally& tally,
                    const opened_with& how) {
  append_text(out, "run", run.run);
  append_number(out, "number", static_cast<std::int64_t>(run.number));
  append_text(out, "state", run.ended.empty() ? "open" : "ended");
  append_text(out, "mode", to_string(how.how));
  append_text(out, "operator_mode", to_string(how.operators));
  const auto unjudged = ingest::limit_line_of(tally.unjudged);
  append_text_or_null(out, "unjudged", unjudged ? to_string(unjudged->hit) : std::string_view());
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
    const auto& one = counts[i];
    out.append(i == 0 ? "{" : ",{");
    append_text_or_null(out, "rule", one.rule);
    append_bool(out, "healed", one.healed);
    append_text_or_null(out, "healing", one.healing);
    append_text_or_null(out, "cause", one.cause);
    append_text_or_null(out, "outcome", one.outcome);
    append_number(out, "count", static_cast<std::int64_t>(one.count));
    out += '}';
  }
  out += ']';
  // What was not healed for the mode alone, and would have been: the summary before a rule is let off its leash.
  append_member(out, "would_have");
  out += '[';
  bool first = true;
  for (const auto& one : counts) {
    if (one.healed || one.cause != "mode" || one.healing.empty()) continue;
    out.append(first ? "{" : ",{");
    first = false;
    append_text_or_null(out, "rule", one.rule);
    append_text_or_null(out, "healing", one.healing);
    append_number(out, "count", static_cast<std::int64_t>(one.count));
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
  const opened_with how = settings_of(tally);
  out += '{';
  append_members(out, row, tally, how);
  out += ",\"rules\":{";
  for (std::size_t i = 0; i < rule_count; ++i) {
    out.append(i == 0 ? "\"" : ",\"").append(rule_names[i]).append("\":\"");
    out.append(to_string(how.effective(static_cast<rule_id>(i)))).append("\"");
  }
  out += "},\"sessions\":[";
  for (std::size_t i = 0; i < tally.sessions.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, tally.sessions[i]);
  }
  out += "],\"labels\":{";
  for (std::size_t i = 0; i < how.asked.labels.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, how.asked.labels[i].first);
    out += ':';
    append_quoted(out, how.asked.labels[i].second);
  }
  out += '}';
  append_counts(out, counts);
  out.append(",\"settings\":").append(tally.hello.empty() ? "null" : tally.hello);
  out += '}';
}

}  // namespace digd::daemon
