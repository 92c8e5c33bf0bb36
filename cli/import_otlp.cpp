// digctl import otlp: recorded OpenTelemetry spans into traces (docs/otlp.md).
//
// All files are read before anything is written: the spans of a run may lie in several of them.
#include <iostream>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "ingest/otlp/import.h"
#include "ingest/trace/trace_writer.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;

struct otlp_options {
  std::vector<std::string> files;
  std::string out = "-";
  bool quiet = false;
  otlp::import_options options;
};

bool read_all(const otlp_options& options, std::vector<otlp::span>& spans, progress& progress) {
  bool well = true;
  progress.begin({.name = "reading", .total = options.files.size() > 1 ? options.files.size() : 0, .unit = "files"});
  for (const std::string& file : options.files) {
    std::string problem;
    const std::optional<std::string> text = read_file(file, options.options.max_bytes, problem);
    if (text) {
      const otlp::read_file_result result = otlp::read_spans(*text, options.options, spans);
      problem = result.problem;
      if (result.rejected > 0) {
        const auto held = progress.pause();
        std::cerr << "digctl import otlp: " << shown(file) << ": " << result.rejected
                  << " spans are not valid; the first: " << result.first_rejection << '\n';
      }
      if (result.dropped_links > 0) {
        const auto held = progress.pause();
        std::cerr << "digctl import otlp: " << shown(file) << ": " << result.dropped_links
                  << " links were left out, because a span has more than " << otlp::max_links << '\n';
      }
    }
    progress.add();
    well = well && problem.empty();
    if (problem.empty()) continue;
    const auto held = progress.pause();
    complain("import otlp", shown(file) + ": " + problem);
  }
  return well;
}

std::string write_trace(const fs::path& to, const importers::import_result& trace) {
  std::string lines;
  for (const std::string& line : trace.lines) (lines += line) += '\n';
  const std::string problem = write_file(to, lines);
  return problem.empty() || to == "-" ? problem : "the trace " + shown(to) + " cannot be written: " + problem;
}

int run(const otlp_options& options) {
  std::vector<otlp::span> spans;
  std::optional<progress> shown_progress(std::in_place, options.quiet);
  const bool well = read_all(options, spans, *shown_progress);
  const bool is_empty = spans.empty();
  shown_progress->begin({.name = "finding the runs"});
  const otlp::import_outcome runs = otlp::import_spans(std::move(spans), options.options);
  shown_progress.reset();
  if (is_empty) return well ? complain("import otlp", "there are no spans in these files") : wrong_use;
  if (!runs) return complain("import otlp", runs.error().message);
  std::error_code failed;
  if (runs->size() > 1 && options.out == "-") {
    return complain("import otlp", "there are " + std::to_string(runs->size()) +
                                       " runs in these spans: name a folder for their traces with -o FOLDER");
  }
  const bool into_folder = runs->size() > 1 || fs::is_directory(options.out, failed) || options.out.ends_with('/');
  if (into_folder) fs::create_directories(options.out, failed);
  if (into_folder && !fs::is_directory(options.out, failed))
    return complain("import otlp", shown(options.out) + " is not a folder; " + std::to_string(runs->size()) +
                                       " runs make as many traces");
  for (const otlp::imported_run& imported_run : *runs) {
    const fs::path to = into_folder ? fs::path(options.out) / (imported_run.id + ".jsonl") : fs::path(options.out);
    if (const std::string problem = write_trace(to, imported_run.trace); !problem.empty())
      return complain("import otlp", problem);
    if (!options.quiet)
      std::cerr << imported_run.id << (to == "-" ? "" : " -> " + shown(to)) << ": "
                << importers::describe(imported_run.trace.counts) << '\n';
  }
  return well ? done : wrong_use;
}

}  // namespace

void add_import_otlp(CLI::App& import, int& status) {
  auto options = std::make_shared<otlp_options>();
  CLI::App* sub =
      import.add_subcommand("otlp", "Reads OpenTelemetry spans of agents (OTLP as JSON, JSON lines or protobuf; gzip)");
  sub->add_option("FILE", options->files, "files of spans, of one run or of several; - for standard input")->required();
  sub->add_option("-o,--output", options->out,
                  "the trace file, or a folder for the traces of several runs; - for standard output")
      ->capture_default_str();
  sub->add_flag("-q,--quiet", options->quiet, "no report on standard error except failures");
  sub->add_option("--run", options->options.run, "the run's id; default: made from the trace's id")
      ->check([](const std::string& id) {
        return importers::run_id(id) == id ? "" : "expected 1 to 256 letters, digits, dots, underscores and dashes";
      });
  sub->callback([options, &status] { status = run(*options); });
}

}  // namespace digd::cli
