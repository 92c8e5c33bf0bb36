#include "daemon/api/runs_api.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "archive/reader.h"
#include "archive/trace_export.h"
#include "engine/quote.h"
#include "engine/settings.h"
#include "ingest/decode.h"
#include "ingest/inbox.h"

namespace digd::daemon {

namespace {

using boost::beast::http::status;

http_response unreadable(const boost::system::error_code& ec) {
  return respond_error(status::internal_server_error, "archive_unreadable", "the archive cannot be read: " + ec.message());
}

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
void append_run(std::string& out, const archive::run_row& run, const archive::run_tally& tally, const opened_with& how) {
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

void append_next(std::string& out, bool more, std::uint64_t last) {
  out += ",\"next\":";
  if (more) {
    out.append("\"").append(std::to_string(last)).append("\"");
  } else {
    out += "null";
  }
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

std::optional<http_response> look_up(archive::browser& from, std::string_view run, archive::run_row& into) {
  const auto found = from.find(run);
  if (!found) return unreadable(found.error());
  if (!*found) return no_such_run(run);
  into = **found;
  return std::nullopt;
}

}  // namespace

http_response list_runs(archive::browser& from, const page_request& page) {
  auto rows = from.runs(page.cursor, page.limit + 1);
  if (!rows) return unreadable(rows.error());
  const bool more = rows->size() > page.limit;
  if (more) rows->pop_back();
  std::string out = "{\"runs\":[";
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const auto tally = from.tally((*rows)[i].number);
    if (!tally) return unreadable(tally.error());
    out.append(i == 0 ? "{" : ",{");
    append_run(out, (*rows)[i], *tally, settings_of(*tally));
    out += '}';
  }
  out += ']';
  append_next(out, more, rows->empty() ? 0 : rows->back().number);
  return respond_json(out + "}\n");
}

http_response show_run(archive::browser& from, std::string_view run) {
  archive::run_row row;
  if (auto no = look_up(from, run, row)) return std::move(*no);
  const auto tally = from.tally(row.number);
  if (!tally) return unreadable(tally.error());
  const auto counts = from.detection_counts(row.number);
  if (!counts) return unreadable(counts.error());
  const opened_with how = settings_of(*tally);
  std::string out = "{";
  append_run(out, row, *tally, how);
  out += ",\"rules\":{";
  for (std::size_t i = 0; i < rule_count; ++i) {
    out.append(i == 0 ? "\"" : ",\"").append(rule_names[i]).append("\":\"");
    out.append(to_string(how.effective(static_cast<rule_id>(i)))).append("\"");
  }
  out += "},\"sessions\":[";
  for (std::size_t i = 0; i < tally->sessions.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, tally->sessions[i]);
  }
  out += "],\"labels\":{";
  for (std::size_t i = 0; i < how.asked.labels.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, how.asked.labels[i].first);
    out += ':';
    append_quoted(out, how.asked.labels[i].second);
  }
  out += "},";
  append_counts(out, *counts);
  out.append(",\"settings\":").append(tally->hello.empty() ? "null" : tally->hello);
  return respond_json(out + "}\n");
}

http_response list_detections(archive::browser& from, std::string_view run, const page_request& page) {
  archive::run_row row;
  if (auto no = look_up(from, run, row)) return std::move(*no);
  auto items = from.detections(row.number, static_cast<std::int64_t>(page.cursor), page.limit + 1);
  if (!items) return unreadable(items.error());
  const bool more = items->size() > page.limit;
  if (more) items->pop_back();
  std::string out = "{\"run\":";
  append_quoted(out, row.run);
  out += ",\"detections\":[";
  for (std::size_t i = 0; i < items->size(); ++i) {
    const auto& one = (*items)[i];
    out.append(i == 0 ? "{" : ",{");
    append_number(out, "seq", one.entry);
    out += ',';
    append_text_or_null(out, "outcome", one.outcome);
    out.append(",\"detection\":").append(one.json).append("}");
  }
  out += ']';
  append_next(out, more, items->empty() ? 0 : static_cast<std::uint64_t>(items->back().id));
  return respond_json(out + "}\n");
}

http_response show_graph(archive::browser& from, const std::string& archive_path, std::string_view run,
                         picture::graph_format format) {
  archive::run_row row;
  if (auto no = look_up(from, run, row)) return std::move(*no);
  const auto reads = archive::reader::open(archive_path);
  if (!reads) return unreadable(reads.error());
  picture::recorded_graph graph(picture::export_bounds{});
  bool going = true;
  archive::trace_export trace([&](std::string_view line) { going = going && graph.line(line); });
  const auto done = (*reads)->each_entry(row.number, [&](const archive::stored_entry& e) {
    trace.take(e);
    return going;
  });
  if (!done) return unreadable(done.error());
  if (going) trace.finish();
  std::string text;
  if (graph.finish()) text = picture::write_graph(graph, format);
  if (graph.too_large() || text.size() > picture::export_bounds{}.bytes) {
    return respond_error(status::payload_too_large, "too_large",
                         graph.too_large() ? graph.problem() : std::string("the export is over its limit of ") +
                             std::to_string(picture::export_bounds{}.bytes >> 20) +
                             " MiB; take `digctl export RUN --format trace` instead");
  }
  if (!graph.problem().empty()) {
    return respond_error(status::internal_server_error, "not_replayed", "the run cannot be replayed: " + graph.problem());
  }
  return respond(status::ok, picture::content_type(format), std::move(text));
}

}  // namespace digd::daemon
