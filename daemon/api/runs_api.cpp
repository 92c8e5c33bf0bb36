#include "daemon/api/runs_api.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/quote.h"
#include "report/stored_runs/json_text.h"
#include "report/stored_runs/pilot.h"
#include "report/stored_runs/run_json.h"
#include "report/stored_runs/stored_graph.h"

namespace digd::daemon {

namespace {

using boost::beast::http::status;

http_response unreadable(const boost::system::error_code& ec) {
  return respond_error(status::internal_server_error, "archive_unreadable",
                       "the archive cannot be read: " + ec.message());
}

std::optional<http_response> look_up(archive::browser& from, std::string_view run, archive::run_row& into) {
  const auto found = from.find(run);
  if (!found) return unreadable(found.error());
  if (!*found) return no_such_run(run);
  into = **found;
  return std::nullopt;
}

}  // namespace

http_response list_runs(archive::browser& from, const page_request& page,
                        const std::function<bool(std::string_view)>& shows) {
  auto rows = from.runs(page.cursor, page.limit + 1);
  if (!rows) return unreadable(rows.error());
  const bool more = rows->size() > page.limit;
  if (more) rows->pop_back();
  std::string out = "{\"runs\":[";
  for (const archive::run_row& row : *rows) {
    if (!shows(row.run)) continue;
    const auto tally = from.tally(row.number);
    if (!tally) return unreadable(tally.error());
    if (out.back() != '[') out += ',';
    stored::append_run(out, row, *tally);
  }
  out += ']';
  stored::append_next(out, more, rows->empty() ? 0 : rows->back().number);
  return respond_json(out + "}\n");
}

http_response show_run(archive::browser& from, std::string_view run) {
  archive::run_row row;
  if (auto no = look_up(from, run, row)) return std::move(*no);
  const auto tally = from.tally(row.number);
  if (!tally) return unreadable(tally.error());
  const auto counts = from.detection_counts(row.number);
  if (!counts) return unreadable(counts.error());
  std::string out;
  stored::append_run_details(out, row, *tally, *counts);
  return respond_json(out + "\n");
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
    const auto& item = (*items)[i];
    out.append(i == 0 ? "{" : ",{");
    stored::append_number(out, "seq", item.entry);
    stored::append_text(out, "name", to_string(stored::detection_name{item.entry, item.place_in_entry}));
    stored::append_text_or_null(out, "outcome", item.outcome);
    stored::append_text_or_null(out, "judgement", item.judgement);
    stored::append_text_or_null(out, "judged_by", item.judged_by);
    stored::append_number_or_null(out, "judged_ms",
                                  item.judgement.empty() ? std::nullopt : std::optional(item.judged_ms));
    out.append(",\"detection\":").append(item.json).append("}");
  }
  out += ']';
  stored::append_next(out, more, items->empty() ? 0 : static_cast<std::uint64_t>(items->back().id));
  return respond_json(out + "}\n");
}

http_response show_graph(archive::browser& from, const std::string& archive_path, std::string_view run,
                         picture::graph_format format) {
  archive::run_row row;
  if (auto no = look_up(from, run, row)) return std::move(*no);
  stored::stored_graph graph = stored::draw_stored(archive_path, row.number, format);
  switch (graph.result) {
    case stored::stored_graph::status::drawn: break;
    case stored::stored_graph::status::deleted: return no_such_run(run);
    case stored::stored_graph::status::too_large:
      return respond_error(status::payload_too_large, "too_large", graph.problem);
    case stored::stored_graph::status::not_replayed:
      return respond_error(status::internal_server_error, "not_replayed", graph.problem);
    case stored::stored_graph::status::unreadable:
      return respond_error(status::internal_server_error, "archive_unreadable",
                           "the archive cannot be read: " + graph.problem);
  }
  return respond(status::ok, picture::content_type(format), std::move(graph.text));
}

http_response trace_answer::next(archive::browser& from) {
  if (!source_) {
    archive::run_row row;
    if (auto no = look_up(from, run_, row)) return std::move(*no);
    auto opened = archive::trace_source::open(path_, row.number);
    if (!opened) return unreadable(opened.error());
    source_ = std::move(*opened);
  }
  auto piece = source_->next();
  if (piece) return respond(status::ok, content_type, std::move(*piece));
  if (piece.error() == archive::make_error_code(archive::archive_error::run_deleted)) return no_such_run(run_);
  return unreadable(piece.error());
}

}  // namespace digd::daemon
