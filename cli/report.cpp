// digctl report TRACE|RUN: what happened in a run, who was responsible, and how that is known, as one page.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>

#include "cli/browser_pdf.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/files.h"
#include "cli/passes.h"
#include "cli/printable.h"
#include "cli/progress.h"
#include "cli/trace_input.h"
#include "report/compose.h"
#include "report/html.h"
#include "report/text.h"

namespace digd::cli {

namespace {

struct report_options {
  std::string source, format, out = "-";
  attribution_options attribution;
  bool quiet = false;
  daemon_options daemon;
};

// Empty, or why it could not be written.
std::string write_as(const std::string& format, const std::string& out, const report::gathered& from,
                     const std::vector<report::part>& parts, const report::document& document) {
  const bool guarded = out == "-" && ::isatty(STDOUT_FILENO) == 1;  // on a terminal, a name could act on it
  if (format == "pdf") return print_pdf(report::to_html(document), out);
  std::string text = format == "json" ? report::to_json(from, parts, document)
                     : format == "md" ? report::to_markdown(document)
                                      : report::to_html(document);
  return write_file(out, guarded ? printable_lines(text) : text);
}

int write(report_options& options) {
  auto input = trace_input::open("report", options.source, options.daemon);
  if (!input) return wrong_use;
  kept_trace trace(std::move(input));
  std::optional<progress> shown_progress(std::in_place, options.quiet);
  const report::gathered from = report::gather([&](const trace_input::each_line& each) {
    shown_progress->begin({.name = "reading the run", .total = trace.size(), .unit = "bytes"});
    return trace.lines([&](std::string_view line) {
      shown_progress->add(line.size() + 1);
      return each(line);
    });
  });
  if (!from.problem.empty()) {
    shown_progress.reset();
    return complain("report", shown(options.source) + ": " + from.problem);
  }
  const auto parts = attributed(options.source, options.attribution, trace, from, *shown_progress);
  if (!parts) return wrong_use;
  shown_progress->begin({.name = options.format == "pdf" ? "printing" : "drawing"});
  const report::document document = report::compose(from, *parts, report::on_command_line(options.source));
  if (options.format != "pdf") shown_progress.reset();
  const std::string problem = write_as(options.format, options.out, from, *parts, document);
  shown_progress.reset();
  if (!problem.empty()) {
    return complain("report", shown(options.source) + ": " + output_problem(options.out, problem));
  }
  return done;
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  auto options = std::make_shared<report_options>();
  CLI::App* sub =
      app.add_subcommand("report", "Writes one page: what happened in a run, who was responsible, and the evidence");
  sub->add_option(
         "TRACE|RUN", options->source,
         "trace file (JSON lines), - for standard input; if there is no such file, the id of a run that the daemon saw")
      ->required();
  sub->add_option("--format", options->format,
                  "html: one page with its pictures; md; json: all numbers; pdf: made by Chromium")
      ->check(CLI::IsMember({"html", "md", "json", "pdf"}))
      ->default_val("html");
  sub->add_option("-o,--output", options->out, "the file to write; - for standard output")->capture_default_str();
  sub->add_option("--budget", options->attribution.budget_seconds,
                  "time limit for attribution, in seconds; 0: only what was observed")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  sub->add_option("--causes", options->attribution.causes, "add this result of `digctl causal explain --format json`");
  sub->add_option("--threads", options->attribution.threads,
                  "threads for attribution; the result does not depend on it. 0: one for each core")
      ->check(CLI::Range(0, 256));
  sub->add_option("--seed", options->attribution.seed, "seed of the sampling")->capture_default_str();
  sub->add_flag("-q,--quiet", options->quiet, "show no progress");
  add_daemon_options(*sub, options->daemon);
  add_data_dir_option(*sub, options->daemon);
  sub->callback([options, &status] { status = write(*options); });
}

}  // namespace digd::cli
