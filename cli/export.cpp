// digctl export RUN: a run that the daemon saw, for other programs.
#include <unistd.h>

#include <memory>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/printable.h"
#include "cli/progress.h"
#include "cli/run_source.h"

namespace digd::cli {

namespace {

struct export_options {
  std::string run;
  std::string format = "trace";
  std::string out = "-";
  daemon_options daemon;
};

// On a terminal, names in the text are escaped. In a trace, the escaped text has the same meaning.
class terminal_guard {
 public:
  std::string take(std::string_view piece) {
    std::string out;
    for (std::size_t end; (end = piece.find('\n')) != std::string_view::npos; piece.remove_prefix(end + 1)) {
      out += printable(rest_ += piece.substr(0, end)) + '\n';
      rest_.clear();
    }
    rest_ += piece;
    return out;
  }
  std::string rest() { return printable(rest_); }

 private:
  std::string rest_;
};

int write(const export_options& options) {
  const auto source = open_source("export", options.daemon, {.run = options.run});
  if (!source) return wrong_use;
  const bool guarded = options.out == "-" && ::isatty(STDOUT_FILENO) == 1;
  terminal_guard guard;
  file_writer out(options.out);
  std::string unwritten;
  progress shown_progress;
  shown_progress.begin({.name = "exporting", .unit = "bytes"});
  const run_source::sink sink = [&](std::string_view piece) {
    shown_progress.add(piece.size());
    const auto held = shown_progress.pause_for_output();
    unwritten = out.write(guarded ? guard.take(piece) : piece);
    return unwritten.empty();
  };
  const std::string problem =
      options.format == "trace" ? source->trace(options.run, sink) : source->graph(options.run, options.format, sink);
  const auto held = shown_progress.pause();
  if (!problem.empty()) return complain("export", problem);
  if (unwritten.empty() && guarded) unwritten = out.write(guard.rest());
  if (unwritten.empty()) unwritten = out.finish();
  if (!unwritten.empty()) return complain("export", output_problem(options.out, unwritten));
  return done;
}

}  // namespace

void add_export(CLI::App& app, int& status) {
  auto options = std::make_shared<export_options>();
  CLI::App* sub = app.add_subcommand("export", "Writes a run of the daemon as a trace to replay, or as a graph");
  sub->add_option("RUN", options->run, "the run's id")->required();
  sub->add_option("--format", options->format,
                  "trace: `digctl replay` answers it as the daemon did; otherwise the recorded graph")
      ->check(CLI::IsMember({"trace", "json", "dot", "graphml", "dig.graph.v2"}))
      ->capture_default_str();
  sub->add_option("-o,--output", options->out, "the file to write; - for standard output")->capture_default_str();
  add_daemon_options(*sub, options->daemon);
  add_data_dir_option(*sub, options->daemon);
  sub->callback([options, &status] { status = write(*options); });
}

}  // namespace digd::cli
