// digctl runs: what a daemon saw, newest first.
#include <boost/json/serialize.hpp>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/json_fields.h"
#include "cli/json_records.h"
#include "cli/local_time.h"
#include "cli/printable.h"
#include "cli/progress.h"
#include "cli/run_source.h"
#include "cli/size_text.h"
#include "cli/terminal_options.h"
#include "report/picture/text.h"

namespace digd::cli {

namespace json = boost::json;

namespace {

struct runs_options {
  std::string format = "table";
  std::size_t limit = 0;  // 0: all
  daemon_options daemon;
  terminal_options terminal;
};

constexpr std::size_t rows_at_once = 200;

table::row run_row(const json::object& run) {
  using tone = table::tone;
  const json::object& counts = object_in(run, "counts");
  const std::string_view ended = text_in(run, "ended");
  const std::int64_t detections = integer_in(counts, "detections"), healed = integer_in(counts, "healed");
  const tone state = ended.empty()        ? tone::plain
                     : ended == "success" ? tone::good
                     : ended == "unknown" ? tone::quiet
                                          : tone::bad;
  return {{local_time(integer_in(run, "opened_ms"), "%Y-%m-%d %H:%M:%S"), tone::quiet},
          {ended.empty() ? "open" : printable(ended), state},
          {printable(text_in(run, "mode"))},
          {std::to_string(integer_in(counts, "messages"))},
          {std::to_string(detections), detections > healed ? tone::warning : tone::plain},
          {std::to_string(healed), healed > 0 ? tone::good : tone::plain},
          {size_text(static_cast<std::uint64_t>(integer_in(run, "bytes"))), tone::quiet},
          {picture::safe(text_in(run, "run"))}};
}

int list(const runs_options& options) {
  const auto source = open_source("runs", options.daemon, {.limit = options.limit});
  if (!source) return wrong_use;
  json_records records(options.format);
  table rows({"opened", "state", "mode", "messages", "detections", "healed", "size", "run"},
             table_look(options.terminal));
  std::size_t count = 0;
  progress shown_progress;
  shown_progress.begin({.name = "reading the list", .unit = "runs"});
  const std::string problem = source->runs([&](const json::object& run) {
    ++count;
    shown_progress.add();
    const auto held = shown_progress.pause_for_output();
    if (records.is_on()) {
      records.add(printable(json::serialize(run)));
    } else {
      rows.add(run_row(run));
      if (rows.waiting() >= rows_at_once) rows.print(std::cout);
    }
    return std::cout.good() && (options.limit == 0 || count < options.limit);
  });
  const auto held = shown_progress.pause();
  if (!records.is_on() && count > 0) rows.print(std::cout);
  if (problem.empty() || count > 0) records.finish();
  std::cout.flush();
  if (!problem.empty()) return complain("runs", problem);
  if (count == 0) std::cerr << "digctl runs: no runs yet\n";
  return done;
}

}  // namespace

void add_runs(CLI::App& app, int& status) {
  auto options = std::make_shared<runs_options>();
  CLI::App* sub = app.add_subcommand("runs", "Lists the runs that the daemon saw, newest first");
  sub->add_option("--format", options->format, "table for people; json, or jsonl: each as in /v1/runs")
      ->check(CLI::IsMember({"table", "json", "jsonl"}))
      ->capture_default_str();
  sub->add_option("--limit", options->limit, "maximum number of runs; default: all")
      ->check(CLI::Range(1, 1'000'000'000));
  add_daemon_options(*sub, options->daemon);
  add_data_dir_option(*sub, options->daemon);
  add_terminal_options(*sub, options->terminal);
  sub->callback([options, &status] { status = list(*options); });
}

}  // namespace digd::cli
