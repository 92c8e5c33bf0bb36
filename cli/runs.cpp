// digctl runs: what a daemon saw, newest first.
#include <boost/json/serialize.hpp>
#include <cinttypes>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/json_records.h"
#include "cli/local_time.h"
#include "cli/printable.h"
#include "cli/progress.h"
#include "cli/run_source.h"
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

std::string text_of(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  const json::string* text = found ? found->if_string() : nullptr;
  return text ? std::string(text->data(), text->size()) : std::string();
}

std::int64_t number_of(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found && found->is_int64() ? found->get_int64() : 0;
}

// 1234567 as "1.2 MB".
std::string bytes_for_people(std::int64_t bytes) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit) value /= 1000;
  char out[32];
  std::snprintf(out, sizeof out, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return out;
}

table::row row_of(const json::object& run) {
  using tone = table::tone;
  const json::value* found = run.if_contains("counts");
  const json::object counts = found && found->is_object() ? found->get_object() : json::object();
  const std::string ended = text_of(run, "ended");
  const std::int64_t detections = number_of(counts, "detections"), healed = number_of(counts, "healed");
  const tone state = ended.empty()        ? tone::plain
                     : ended == "success" ? tone::good
                     : ended == "unknown" ? tone::quiet
                                          : tone::bad;
  return {{local_time(number_of(run, "opened_ms"), "%Y-%m-%d %H:%M:%S"), tone::quiet},
          {ended.empty() ? "open" : printable(ended), state},
          {printable(text_of(run, "mode"))},
          {std::to_string(number_of(counts, "messages"))},
          {std::to_string(detections), detections > healed ? tone::warning : tone::plain},
          {std::to_string(healed), healed > 0 ? tone::good : tone::plain},
          {bytes_for_people(number_of(run, "bytes")), tone::quiet},
          {picture::safe(text_of(run, "run"))}};
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
      rows.add(row_of(run));
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
