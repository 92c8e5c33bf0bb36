// digctl export RUN: a run that the daemon saw, for other programs.
#include <unistd.h>

#include <memory>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/printable.h"
#include "cli/run_source.h"

namespace digd::cli {

namespace {

struct export_options {
  std::string run;
  std::string format = "trace";
  std::string out = "-";
  daemon_options daemon;
};

// On a terminal, a name in the text could act on it. In a trace, the escaped text means the same.
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

int write(const export_options& how) {
  const auto source = open_source("export", how.daemon);
  if (!source) return wrong_use;
  const bool guarded = how.out == "-" && ::isatty(STDOUT_FILENO) == 1;
  terminal_guard guard;
  file_writer out(how.out);
  std::string unwritten;
  const run_source::sink sink = [&](std::string_view piece) {
    unwritten = out.write(guarded ? guard.take(piece) : piece);
    return unwritten.empty();
  };
  const std::string problem =
      how.format == "trace" ? source->trace(how.run, sink) : source->graph(how.run, how.format, sink);
  if (!problem.empty()) return complain("export", problem);
  if (unwritten.empty() && guarded) unwritten = out.write(guard.rest());
  if (unwritten.empty()) unwritten = out.finish();
  if (!unwritten.empty()) return complain("export", shown(how.out) + ": " + unwritten);
  return done;
}

}  // namespace

void add_export(CLI::App& app, int& status) {
  auto how = std::make_shared<export_options>();
  CLI::App* sub = app.add_subcommand("export", "Writes a run that the daemon saw: as a trace to replay, or its graph");
  sub->add_option("RUN", how->run, "the run's id")->required();
  sub->add_option("--format", how->format, "trace: what `digctl replay` answers as the daemon did; else the recorded graph")
      ->check(CLI::IsMember({"trace", "json", "dot", "graphml", "dig.graph.v2"}))
      ->capture_default_str();
  sub->add_option("-o,--output", how->out, "the file to write; - for standard output")->capture_default_str();
  add_daemon_options(*sub, how->daemon);
  add_data_dir_option(*sub, how->daemon);
  sub->callback([how, &status] { status = write(*how); });
}

}  // namespace digd::cli
