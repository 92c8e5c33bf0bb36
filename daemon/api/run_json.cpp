#include "daemon/api/run_json.h"

#include <algorithm>
#include <optional>

#include "engine/quote.h"
#include "engine/settings.h"
#include "ingest/decode.h"
#include "ingest/inbox.h"

namespace digd::daemon {

namespace {

void append_number(std::string& out, std::string_view name, std::int64_t value) {
  out.append("\"").append(name).append("\":").append(std::to_string(value));
}

void append_or_null(std::string& out, std::string_view name, const std::optional<std::int64_t>& value) {
  if (value) return append_number(out, name, *value);
  out.append("\"").append(name).append("\":null");
}

void append_text_or_null(std::string& out, std::string_view name, std::string_view value) {
  out.append("\"").append(name).append("\":");
  if (value.empty()) {
    out += "null";
  } else {
    append_quoted(out, value);
  }
}

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
  out += "\"run\":";
  append_quoted(out, run.run);
  out += ',';
  append_number(out, "number", static_cast<std::int64_t>(run.number));
  out.append(",\"state\":").append(run.ended.empty() ? "\"open\"" : "\"ended\"");
  out.append(",\"mode\":\"").append(to_string(how.how)).append("\",\"operator_mode\":\"");
  out.append(to_string(how.operators)).append("\",");
  append_number(out, "opened_ms", run.opened_ms);
  out += ',';
  append_or_null(out, "last_ts", run.last_ts);
  out += ',';
  append_text_or_null(out, "ended", run.ended);
  out += ',';
  append_or_null(out, "ended_ms", run.ended_ms);
  out += ',';
  append_or_null(out, "heard_ms", run.heard_ms);
  out += ',';
  append_number(out, "bytes", static_cast<std::int64_t>(run.bytes));
  out += ",\"counts\":{";
  append_number(out, "messages", static_cast<std::int64_t>(tally.messages));
  out += ',';
  append_number(out, "refused", static_cast<std::int64_t>(tally.refused));
  out += ',';
  append_number(out, "detections", static_cast<std::int64_t>(tally.detections));
  out += ',';
  append_number(out, "healed", static_cast<std::int64_t>(tally.healed));
  out += '}';
}

void append_counts(std::string& out, const std::vector<archive::detection_count>& counts) {
  out += "\"detections\":[";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& one = counts[i];
    out.append(i == 0 ? "{" : ",{");
    append_text_or_null(out, "rule", one.rule);
    out.append(",\"healed\":").append(one.healed ? "true," : "false,");
    append_text_or_null(out, "healing", one.healing);
    out += ',';
    append_text_or_null(out, "cause", one.cause);
    out += ',';
    append_text_or_null(out, "outcome", one.outcome);
    out += ',';
    append_number(out, "count", static_cast<std::int64_t>(one.count));
    out += '}';
  }
  // What was not healed for the mode alone, and would have been: the summary before a rule is let off its leash.
  out += "],\"would_have\":[";
  bool first = true;
  for (const auto& one : counts) {
    if (one.healed || one.cause != "mode" || one.healing.empty()) continue;
    out.append(first ? "{" : ",{");
    first = false;
    append_text_or_null(out, "rule", one.rule);
    out += ',';
    append_text_or_null(out, "healing", one.healing);
    out += ',';
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
  out += "},";
  append_counts(out, counts);
  out.append(",\"settings\":").append(tally.hello.empty() ? "null" : tally.hello);
  out += '}';
}

}  // namespace digd::daemon
