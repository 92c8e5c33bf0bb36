#include "cli/factor_source.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>

#include "analysis/causal/factors/csv.h"
#include "analysis/causal/factors/plain_name.h"
#include "analysis/causal/worldview.h"
#include "cli/files.h"
#include "cli/fleet.h"

namespace digd::cli {

namespace {

using namespace digd::causal;

constexpr std::size_t max_rows = 65'535, max_columns = 500;

// The runs of a fleet in the place of paths.
std::string name_fleet(const factor_source& from, std::vector<std::string>& paths,
                       std::unique_ptr<fleet_archive>& archive) {
  const fleet_options fleet = effective_fleet(from.fleet);
  if (fleet.urls.empty()) return {};
  if (!paths.empty() || !from.csv.empty()) return "name runs or --fleet, not both";
  std::string problem;
  if (!(archive = fleet_archive::make(fleet, {}, problem, true))) return problem;
  paths = {archive->folder()};
  return {};
}

bool is_csv(const std::string& path) { return path == "-" || std::filesystem::path(path).extension() == ".csv"; }

// The error if no run has ended. A single note says why the only run was left out, so the error includes it.
std::string nothing_ended(const std::vector<std::string>& notes) {
  return notes.size() == 1 ? "no run has ended; " + notes.front() : "no run has ended";
}

std::string check_table(const factor_rows& out) {
  if (!out.problem.empty()) return out.problem;
  if (out.data.size() > max_columns) return "more than 500 columns; leave some out with --without";
  if (out.data.rows() > max_rows) return "more than 65535 runs; use a sample of them";
  return out.data.rows() == 0 ? nothing_ended(out.notes) : std::string();
}

}  // namespace

void add_list(CLI::App& app, const std::string& name, std::vector<std::string>& to, const std::string& text) {
  app.add_option(name, to, text + "; may be repeated")->allow_extra_args(false);
}

void add_factor_source(CLI::App& app, factor_source& from) {
  add_list(app, "--factor", from.factors, "a factor of your own, NAME=EXPRESSION");
  add_list(app, "--factors", from.factor_files, "a file with one NAME=EXPRESSION a line");
  app.add_flag("--rates", from.rates,
               "divide counts by activations (except the outcome), so that long and short runs are comparable");
  app.add_option("--first-ms", from.first_ms, "only the first N milliseconds of each run; 0: all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--first-messages", from.first_messages, "only the first N messages of each run; 0: all");
}

void add_metrics(CLI::App& app, factor_source& from) {
  add_list(app, "--metric", from.metrics, "a metric of run_ended as a column, * for all");
}

std::string add_user_factors(const factor_source& from, factor_request& request) {
  for (const std::string& text : from.factors) {
    if (std::string problem = read_user_factors(text, request.user); !problem.empty())
      return "--factor " + plain(text) + ": " + problem;
  }
  for (const std::string& file : from.factor_files) {
    std::string problem;
    const auto text = read_file(file, max_factor_file_bytes, problem);
    if (text) problem = read_user_factors(*text, request.user);
    if (!problem.empty()) return shown(file) + ": " + problem;
  }
  return {};
}

std::string factor_loader::views(const std::vector<std::string>& files, beliefs& into) {
  for (const std::string& file : files) {
    std::string problem;
    const auto text = read_file(file, max_factor_file_bytes, problem);
    if (!text) return shown(file) + ": " + problem;
    worldviews read = read_worldviews(*text);
    if (!read.problem.empty()) return shown(file) + ": " + read.problem;
    for (const worldview_variable& v : read.worldviews.front().variables) {
      const std::pair own(v.name, v.expression);
      if (!v.expression.empty() && std::find(extra_.begin(), extra_.end(), own) == extra_.end()) extra_.push_back(own);
    }
    std::move(read.worldviews.begin(), read.worldviews.end(), std::back_inserter(into.views));
  }
  return {};
}

std::string factor_loader::load(factor_rows& out, const std::string& outcome) {
  std::vector<std::string> paths = from_.paths;
  std::unique_ptr<fleet_archive> archive;
  if (std::string problem = name_fleet(from_, paths, archive); !problem.empty()) return problem;
  if (!from_.csv.empty()) {
    if (!paths.empty()) return "name either runs or --csv";
    return load_csv(from_.csv, out);
  }
  if (paths.size() == 1 && is_csv(paths[0])) return load_csv(paths[0], out);
  if (paths.empty() && from_.lines.empty()) return "name archives, traces or folders of them, or a table with --csv";
  factor_request request;
  if (std::string problem = make_request(request, outcome); !problem.empty()) return problem;
  if (!from_.lines.empty()) {
    if (!paths.empty()) return "name either runs or --lines";
    std::string problem;
    const auto text = read_file(from_.lines, max_factor_file_bytes, problem);
    if (!text) return shown(from_.lines) + ": " + problem;
    out = factor_table_of_lines(*text, request);
    return check_table(out);
  }
  out = factor_table_of(paths, request);
  return check_table(out);
}

std::string factor_loader::load_lines(std::string& out, const std::string& outcome) {
  std::vector<std::string> paths = from_.paths;
  std::unique_ptr<fleet_archive> archive;
  if (std::string problem = name_fleet(from_, paths, archive); !problem.empty()) return problem;
  factor_request request;
  if (std::string problem = make_request(request, outcome); !problem.empty()) return problem;
  return factor_lines_of(paths, request, out);
}

std::string factor_loader::make_request(factor_request& request, const std::string& outcome) const {
  request.user = extra_;
  request.rates = from_.rates;
  request.window = {from_.first_ms, from_.first_messages};
  request.metrics = from_.metrics;
  request.outcome = outcome;
  if (outcome.starts_with("metric.")) request.metrics.push_back(outcome.substr(7));
  return add_user_factors(from_, request);
}

// Every column may serve as a label. One called `run` names the rows and is not a factor.
std::string factor_loader::load_csv(const std::string& path, factor_rows& out) {
  const bool computes = !from_.factors.empty() || !from_.factor_files.empty() || from_.rates || from_.first_ms > 0 ||
                        from_.first_messages > 0;
  if (computes) return "factors and windows are computed from runs; " + shown(path) + " is a table already";
  std::string problem;
  const auto text = read_file(path, max_factor_file_bytes, problem);
  if (!text) return shown(path) + ": " + problem;
  csv_result read = read_csv(*text, from_.discrete);
  if (!read.problem.empty()) return shown(path) + ": " + read.problem;
  variables kept;
  for (variable v = 0; v < read.data.size(); ++v) {
    if (read.data[v].name != "run") kept.push_back(v);
  }
  out.data = read.data.select(kept);
  out.notes = std::move(read.notes);
  std::erase_if(out.notes, [](const std::string& n) { return n.starts_with("run: no factor"); });
  std::string ignored;
  const auto cells = csv_cells(*text, ignored);
  for (std::size_t row : read.kept) {
    std::map<std::string, std::string> of_row;
    for (std::size_t c = 0; c < read.names.size(); ++c) {
      const std::string& name = read.names[c];
      of_row[name.starts_with("label.") ? name.substr(6) : name] = cells[row + 1][c];
    }
    out.labels.push_back(std::move(of_row));
  }
  return check_table(out);
}

}  // namespace digd::cli
