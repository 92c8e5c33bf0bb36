// digctl show TRACE|RUN: a run as a picture, on the terminal, as SVG or for Graphviz.
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "cli/terminal_options.h"
#include "cli/trace_input.h"
#include "report/picture/dot.h"
#include "report/picture/svg.h"
#include "report/picture/terminal.h"

namespace digd::cli {

namespace {

struct show_options {
  std::string text;
  std::string out = "-";
  bool svg = false, dot = false, words = false, no_fyi = false, no_legend = false;
  std::string rule;
  picture::filter part;
  daemon_options daemon;
  terminal_options terminal;
};

// nullopt, after an error message, if it is neither a trace nor a run.
std::optional<picture::model> record(const show_options& options) {
  picture::recorder recorder;
  const auto input = trace_input::open("show", options.text, options.daemon);
  if (!input) return {};
  progress shown_progress;
  shown_progress.begin({.name = "reading the run", .total = input->size(), .unit = "bytes"});
  std::string problem = input->lines([&](std::string_view line) {
    shown_progress.add(line.size() + 1);
    return recorder.line(line);
  });
  const auto held = shown_progress.pause();
  if (problem.empty()) problem = recorder.problem();
  if (!problem.empty()) {
    complain("show", shown(options.text) + ": " + problem);
    return {};
  }
  return recorder.finish();
}

int show(show_options& options) {
  if (options.svg && options.dot) {
    std::cerr << "digctl show: use either --svg or --dot\n";
    return wrong_use;
  }
  options.part.fyi = !options.no_fyi;
  if (!options.rule.empty()) options.part.rule = rule_from(options.rule);
  const std::optional<picture::model> run = record(options);
  if (!run) return wrong_use;
  const picture::selection part = picture::select(*run, options.part);
  std::string text;
  if (options.svg) {
    text = picture::draw_svg(*run, part);
  } else if (options.dot) {
    text = picture::draw_dot(*run, part);
  } else {
    text = picture::draw_terminal(*run, part,
                                  {.width = options.terminal.columns(),
                                   .color = options.terminal.colored() && options.out == "-",
                                   .legend = !options.no_legend,
                                   .words = options.words});
  }
  if (const std::string problem = write_file(options.out, text); !problem.empty()) {
    return complain("show", output_problem(options.out, problem));
  }
  if (options.svg || options.dot) {
    for (const std::string& note : part.notes) std::cerr << "digctl show: " << note << '\n';
  }
  return part.rows.empty() && !run->rows.empty() ? wrong_use : done;
}

std::string check_rule(const std::string& name) {
  return rule_from(name) ? std::string() : "expected a rule's name (see digctl rules)";
}

}  // namespace

void add_show(CLI::App& app, int& status) {
  auto options = std::make_shared<show_options>();
  CLI::App* sub = app.add_subcommand("show", "Draws a run: agents, their activations over time, events and detections");
  sub->add_option(
         "TRACE|RUN", options->text,
         "trace file (JSON lines), - for standard input; if there is no such file, the id of a run that the daemon saw")
      ->required();
  sub->add_flag("--svg", options->svg, "an SVG picture instead of text");
  sub->add_flag("--dot", options->dot, "the graph for Graphviz");
  sub->add_option("-o,--output", options->out, "the file to write; - for standard output")->capture_default_str();
  sub->add_option("--agent", options->part.agents, "only nodes of this agent; may be repeated")
      ->expected(1)
      ->take_all();
  sub->add_option("--around", options->part.around, "only nodes near this event");
  sub->add_option("--rule", options->rule, "only nodes near this rule's detections")
      ->check(CLI::Validator(check_rule, "RULE"));
  sub->add_option("--after", options->part.from, "from this time (ms, as in the trace)");
  sub->add_option("--before", options->part.to, "up to this time (ms, as in the trace)");
  sub->add_flag("--no-fyi", options->no_fyi, "without fyi events");
  sub->add_option("--limit", options->part.limit,
                  "maximum number of activations and events; a longer run is cut to the part with the first detection")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  sub->add_flag("--text", options->words, "show the first words of payloads");
  sub->add_flag("--no-legend", options->no_legend, "without the legend");
  add_daemon_options(*sub, options->daemon);
  add_data_dir_option(*sub, options->daemon);
  add_terminal_options(*sub, options->terminal);
  sub->callback([options, &status] { status = show(*options); });
}

}  // namespace digd::cli
