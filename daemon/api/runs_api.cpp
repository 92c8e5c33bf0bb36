#include "daemon/api/runs_api.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "daemon/fleet/home_keeper.h"
#include "report/stored_runs/pilot.h"
#include "report/stored_runs/run_json.h"
#include "report/stored_runs/stored_graph.h"

namespace digd::daemon {

namespace {

using boost::beast::http::status;

std::optional<http_response> look_up(archive::browser& from, std::string_view run, archive::run_row& into) {
  const auto found = from.find(run);
  if (!found) return archive_unreadable(found.error().message());
  if (!*found) return no_such_run(run);
  into = **found;
  return std::nullopt;
}

// The finished object with the member `home`.
std::string with_home(std::string_view object, const std::optional<home_place>& home) {
  std::string out;
  json_writer to(out);
  to.open_object().members_of(object).key("home");
  if (home) {
    to.open_object().key("host").text(home->host).key("url").text_or_null(home->url);
    to.key("epoch").integer(home->epoch).key("pinned").boolean(home->pinned).key("here").boolean(home->is_here);
    to.close_object();
  } else {
    to.null();
  }
  to.close_object();
  return out;
}

}  // namespace

http_response list_runs(archive::browser& from, const page_request& page,
                        const std::function<bool(std::string_view)>& shows) {
  auto rows = from.runs(page.cursor, page.limit + 1);
  if (!rows) return archive_unreadable(rows.error().message());
  const bool more = rows->size() > page.limit;
  if (more) rows->pop_back();
  std::string out;
  json_writer to(out);
  to.open_object().key("runs").open_array();
  for (const archive::run_row& row : *rows) {
    if (!shows(row.run)) continue;
    const auto tally = from.tally(row.number);
    if (!tally) return archive_unreadable(tally.error().message());
    stored::write_run(to, row, *tally);
  }
  to.close_array().key("next").text_or_null(more ? std::to_string(rows->back().number) : "").close_object();
  return respond_json(out + '\n');
}

http_response show_run(archive::browser& from, const std::string& run, const home_keeper* homes) {
  archive::run_row row;
  if (auto no = look_up(from, run, row)) return std::move(*no);
  const auto tally = from.tally(row.number);
  if (!tally) return archive_unreadable(tally.error().message());
  const auto counts = from.detection_counts(row.number);
  if (!counts) return archive_unreadable(counts.error().message());
  std::string out;
  json_writer to(out);
  stored::write_run_details(to, row, *tally, *counts);
  if (homes != nullptr) out = with_home(out, homes->look_up(run));
  return respond_json(out + "\n");
}

http_response list_detections(archive::browser& from, std::string_view run, const page_request& page) {
  archive::run_row row;
  if (auto no = look_up(from, run, row)) return std::move(*no);
  auto items = from.detections(row.number, static_cast<std::int64_t>(page.cursor), page.limit + 1);
  if (!items) return archive_unreadable(items.error().message());
  const bool more = items->size() > page.limit;
  if (more) items->pop_back();
  std::string out;
  json_writer to(out);
  to.open_object().key("run").text(row.run).key("detections").open_array();
  for (const archive::detection_item& item : *items) {
    to.open_object().key("seq").integer(item.entry);
    to.key("name").text(to_string(stored::detection_name{item.entry, item.place_in_entry}));
    to.key("outcome").text_or_null(item.outcome).key("judgement").text_or_null(item.judgement);
    to.key("judged_by").text_or_null(item.judged_by).key("judged_ms");
    item.judgement.empty() ? to.null() : to.integer(item.judged_ms);
    to.key("detection").raw(item.json).close_object();
  }
  to.close_array().key("next").text_or_null(more ? std::to_string(items->back().id) : "").close_object();
  return respond_json(out + '\n');
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

http_response trace_response::next(archive::browser& from) {
  if (!source_) {
    archive::run_row row;
    if (auto no = look_up(from, run_, row)) return std::move(*no);
    auto opened = archive::trace_source::open(path_, row.number);
    if (!opened) return archive_unreadable(opened.error().message());
    source_ = std::move(*opened);
  }
  auto piece = source_->next();
  if (piece) return respond(status::ok, content_type, std::move(*piece));
  if (piece.error() == archive::make_error_code(archive::archive_error::run_deleted)) return no_such_run(run_);
  return archive_unreadable(piece.error().message());
}

}  // namespace digd::daemon
