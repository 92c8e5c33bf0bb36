#include "cli/run_source.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "archive/browser.h"
#include "archive/trace_source.h"
#include "base/deep_json.h"
#include "base/quote.h"
#include "base/text.h"
#include "base/unix_time.h"
#include "cli/files.h"
#include "report/stored_runs/pilot.h"
#include "report/stored_runs/run_json.h"
#include "report/stored_runs/stored_graph.h"

namespace digd::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t page = 200;

// Nothing, with `problem` set, if it is not an object.
std::string parse(const std::string& text, json::object& into) {
  json::error_code ec;
  json::value value = parse_json(text, ec);
  if (ec || !value.is_object()) return "the answer is not a JSON object; is that digd?";
  into = std::move(value.get_object());
  return {};
}

// ---- a daemon

class asked_daemon final : public run_source {
 public:
  explicit asked_daemon(daemon_client daemon) : daemon_(std::move(daemon)) {}

  std::string runs(const each_run& each) override {
    std::string cursor;
    do {
      json::object answer;
      const std::string target = "/v1/runs?limit=" + std::to_string(page) + (cursor.empty() ? "" : "&cursor=" + cursor);
      if (std::string problem = get(target, answer); !problem.empty()) return problem;
      const json::value* list = answer.if_contains("runs");
      if (list == nullptr || !list->is_array()) return "the answer has no list of runs; is that digd?";
      for (const json::value& value : list->get_array()) {
        if (value.is_object() && !each(value.get_object())) return {};
      }
      const json::value* next = answer.if_contains("next");
      const json::string* named = next ? next->if_string() : nullptr;
      std::string later = named ? percent_encoded({named->data(), named->size()}) : std::string();
      if (!later.empty() && later == cursor) return "the list of runs does not end; is that digd?";
      cursor = std::move(later);
    } while (!cursor.empty());
    return {};
  }

  std::string details(const std::string& run, json::object& into) override { return get(run_path(run), into); }

  std::string pilot(const std::string& since, json::object& into) override {
    return get("/v1/pilot?since=" + percent_encoded(since), into);
  }

  std::string trace(const std::string& run, const sink& to) override { return download(run_path(run, "/trace"), to); }

  std::string graph(const std::string& run, const std::string& format, const sink& to) override {
    return download(run_path(run, "/graph?format=" + format), to);
  }

 private:
  std::string get(const std::string& target, json::object& into) {
    net::http_answer answer;
    if (std::string problem = daemon_.get(target, answer); !problem.empty()) return problem;
    if (!answer.good()) return complaint_of(daemon_, answer);
    return parse(answer.body, into);
  }

  std::string download(const std::string& target, const sink& to) {
    net::http_answer answer;
    if (std::string problem = daemon_.download(target, to, answer); !problem.empty()) return problem;
    return answer.good() ? std::string() : complaint_of(daemon_, answer);
  }

  daemon_client daemon_;
};

// ---- an archive file

class archive_file final : public run_source {
 public:
  // `of_fleet`: owns the file; null: it is a daemon's.
  archive_file(std::string path, std::unique_ptr<archive::browser> reads, std::unique_ptr<fleet_archive> of_fleet)
      : of_fleet_(std::move(of_fleet)), path_(std::move(path)), reads_(std::move(reads)) {}

  std::string runs(const each_run& each) override {
    for (std::uint64_t before = 0;;) {
      const auto rows = reads_->runs(before, page);
      if (!rows) return unreadable(rows.error());
      for (const archive::run_row& row : *rows) {
        const auto tally = reads_->tally(row.number);
        if (!tally) return unreadable(tally.error());
        std::string text;
        json_writer to(text);
        stored::write_run(to, row, *tally);
        json::object run;
        if (std::string reason = parse(text, run); !reason.empty()) return reason;
        if (!each(run)) return {};
        before = row.number;
      }
      if (rows->size() < page) return {};
    }
  }

  std::string details(const std::string& run, json::object& into) override {
    archive::run_row row;
    if (std::string reason = find(run, row); !reason.empty()) return reason;
    const auto tally = reads_->tally(row.number);
    if (!tally) return unreadable(tally.error());
    const auto counts = reads_->detection_counts(row.number);
    if (!counts) return unreadable(counts.error());
    std::string text;
    json_writer to(text);
    stored::write_run_details(to, row, *tally, *counts);
    return parse(text, into);
  }

  std::string pilot(const std::string& since, json::object& into) override {
    const std::int64_t now = unix_ms();
    const auto span = stored::duration_ms(since);
    if (!span) return wrong_span;
    const auto text =
        stored::pilot_json(*reads_, {.since_ms = std::max<std::int64_t>(now - *span, 0), .now_ms = now, .shows = {}});
    return text ? parse(*text, into) : unreadable(text.error());
  }

  std::string trace(const std::string& run, const sink& to) override {
    archive::run_row row;
    if (std::string reason = find(run, row); !reason.empty()) return reason;
    const auto from = archive::trace_source::open(path_, row.number);
    if (!from) return unreadable(from.error());
    for (;;) {
      const auto piece = (*from)->next();
      if (!piece) return unreadable(piece.error());
      if (piece->empty() || !to(*piece)) return {};
    }
  }

  std::string graph(const std::string& run, const std::string& format, const sink& to) override {
    archive::run_row row;
    if (std::string reason = find(run, row); !reason.empty()) return reason;
    const stored::stored_graph graph = stored::draw_stored(path_, row.number, *picture::graph_format_from(format));
    if (graph.result != stored::stored_graph::status::drawn) return graph.problem;
    to(graph.text);
    return {};
  }

 private:
  std::string unreadable(const boost::system::error_code& ec) const { return shown(path_) + ": " + ec.message(); }

  std::string find(const std::string& run, archive::run_row& into) {
    const auto found = reads_->find(run);
    if (!found) return unreadable(found.error());
    if (!*found) return "there is no run " + digd::quoted(run);
    into = **found;
    return {};
  }

  const std::unique_ptr<fleet_archive> of_fleet_;
  const std::string path_;
  std::unique_ptr<archive::browser> reads_;
};

}  // namespace

fleet_selection opened_since(const std::string& span) {
  const auto length = stored::duration_ms(span);
  return {.since_ms = length ? std::max<std::int64_t>(unix_ms() - *length, 0) : 0};
}

std::unique_ptr<run_source> open_source(const daemon_options& options, const fleet_selection& selection,
                                        std::string& problem) {
  const fleet_options fleet = effective_fleet(options.fleet);
  std::unique_ptr<fleet_archive> of_fleet;
  if (!fleet.urls.empty()) {
    if (!options.data_dir.empty()) {
      problem = "--data-dir or --fleet, not both";
      return nullptr;
    }
    if (!(of_fleet = fleet_archive::make(fleet, selection, problem))) return nullptr;
  }
  if (options.data_dir.empty() && !of_fleet) {
    auto daemon = http_to(options, problem);
    return daemon ? std::make_unique<asked_daemon>(std::move(*daemon)) : nullptr;
  }
  const std::filesystem::path folder = of_fleet ? of_fleet->folder() : options.data_dir;
  const std::filesystem::path path = folder / "digd.sqlite";
  std::error_code none;
  if (!std::filesystem::exists(path, none)) {
    problem = "--data-dir: there is no archive " + shown(path);
    return nullptr;
  }
  auto reads = archive::browser::open(path.string(), &problem);
  if (!reads) {
    problem.insert(0, shown(path) + ": ");
    return nullptr;
  }
  return std::make_unique<archive_file>(path.string(), std::move(*reads), std::move(of_fleet));
}

std::unique_ptr<run_source> open_source(const std::string& command, const daemon_options& options,
                                        const fleet_selection& selection) {
  std::string problem;
  auto source = open_source(options, selection, problem);
  if (!source) complain(command, problem);
  return source;
}

}  // namespace digd::cli
