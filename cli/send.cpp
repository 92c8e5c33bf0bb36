// digctl send TRACE: plays a trace to a daemon, as the client that recorded it would have.
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/fail_on.h"
#include "cli/files.h"
#include "cli/frame_rows.h"
#include "cli/progress.h"
#include "cli/refused_lines.h"
#include "cli/terminal_options.h"
#include "cli/trace_input.h"
#include "ingest/protocol/replay.h"
#include "net/trace_player.h"
#include "report/words.h"

namespace digd::cli {

namespace {

struct send_options {
  std::string trace;
  std::string run;
  std::string format = "table";
  std::string fail_on;
  double speed = 0;
  daemon_options daemon;
  terminal_options terminal;
};

void report(const net::play_counts& c) {
  using report::counted;
  std::cerr << counted(c.messages, "message", "messages") << ", " << counted(c.verdicts, "verdict", "verdicts") << ", "
            << counted(c.interventions, "intervention", "interventions") << ", " << counted(c.errors, "error", "errors")
            << "; " << report::grouped(c.acked) << " acked";
  if (c.known > 0) std::cerr << ", " << counted(c.known, "was", "were") << " already there";
  if (c.reconnects > 0) std::cerr << ", " << counted(c.reconnects, "reconnect", "reconnects");
  if (c.lost_answers > 0)
    std::cerr << "; " << counted(c.lost_answers, "answer was", "answers were")
              << " lost with a connection (delivered unchanged)";
  std::cerr << '\n';
}

// Reads the run back, because a daemon's answers lack detections that led to no verdict, such as a deadlock in mode
// observe.
int look_for_detections(const std::string& run, const send_options& options) {
  const auto recorded = trace_input::open_run("send", run, options.daemon);
  if (!recorded) return wrong_use;
  bool is_found = false;
  ingest::replay::listener to;
  to.record = [&](const ingest::record& record) {
    for (const detection& d : record.answer.detections) is_found = is_found || fails_on(options.fail_on, d);
  };
  ingest::replay through(run_policy{}, to);
  std::string problem = recorded->lines([&](std::string_view line) { return through.line(line); });
  if (problem.empty()) problem = through.problem();
  if (!problem.empty()) return complain("send", "the run cannot be read back: " + problem);
  return is_found ? found : done;
}

int send(const send_options& options) {
  net::play_options play;
  const std::optional<daemon_end> daemon = find_daemon("send", options.daemon);
  if (!daemon) return wrong_use;
  play.to = daemon->to;
  play.token = daemon->token;
  play.run = options.run;
  play.speed = options.speed;
  play.patience = options.daemon.patience();
  if (const std::string unreadable = unreadable_reason(options.trace); !unreadable.empty())
    return complain("send", shown(options.trace) + ": " + unreadable);
  std::ifstream file;
  if (options.trace != "-") file.open(options.trace, std::ios::binary);
  if (options.trace != "-" && !file) return complain("send", shown(options.trace) + ": it cannot be read");
  std::istream& in = options.trace == "-" ? std::cin : file;
  frame_printer print(options.format, table_look(options.terminal), pace::live);
  refused_lines refusals;
  std::error_code none;
  const bool is_file = options.trace != "-" && std::filesystem::is_regular_file(options.trace, none);
  progress shown_progress;
  shown_progress.begin(
      {.name = "sending", .total = is_file ? std::filesystem::file_size(options.trace, none) : 0, .unit = "bytes"});
  net::trace_player player(play, {.frame =
                                      [&](std::string_view frame) {
                                        const auto held = shown_progress.pause_for_output();
                                        print.frame(frame);
                                      },
                                  .refused =
                                      [&](std::uint64_t line, const net::daemon_frame& error) {
                                        refusals.add(line, error.code, net::text_of(error.body, "field"),
                                                     error.message);
                                      },
                                  .notice =
                                      [&](std::string_view text) {
                                        const auto held = shown_progress.pause();
                                        std::cerr << "digctl send: " << text << '\n';
                                      },
                                  .idle =
                                      [&] {
                                        const auto held = shown_progress.pause_for_output();
                                        print.flush();
                                      }});
  std::string line;
  bool good = true, any = false;
  while (good && std::getline(in, line)) {
    good = player.line(line);
    shown_progress.add(line.size() + 1);
    any = any || line.find_first_not_of(" \t\r") != std::string::npos;
  }
  good = good && player.finish();
  const auto held = shown_progress.pause();
  if (!good || !any) {
    print.abandon();
    return complain("send", shown(options.trace) + ": " + (good ? "not a trace: the file is empty" : player.problem()));
  }
  print.finish();
  report(player.counted());
  if (!refusals.empty()) return refusals.report("send", options.trace);
  return options.fail_on.empty() ? done : look_for_detections(player.run(), options);
}

}  // namespace

void add_send(CLI::App& app, int& status) {
  auto options = std::make_shared<send_options>();
  CLI::App* sub = app.add_subcommand("send", "Plays a trace to a daemon and prints what it answers");
  sub->add_option("TRACE", options->trace, "trace file (JSON lines); - for standard input")->required();
  sub->add_option("--run", options->run, "the run's id; default: the trace's");
  sub->add_option("--speed", options->speed,
                  "1: in real time, by the messages' ts; 10: ten times as fast; default: as fast as possible")
      ->check(CLI::PositiveNumber);
  sub->add_option("--format", options->format,
                  "table for people; json, or jsonl: the frames, as `replay --output messages` prints them")
      ->check(CLI::IsMember({"table", "json", "jsonl"}))
      ->capture_default_str();
  sub->add_option("--fail-on", options->fail_on,
                  "exit 1 if the run has such a detection: any, failure, warning, or a rule's name")
      ->check(CLI::Validator(check_fail_on, "KIND"));
  add_daemon_options(*sub, options->daemon);
  add_terminal_options(*sub, options->terminal);
  sub->footer("A hello that names no clock is sent with \"clock\":\"trace\", so that the trace's own times count.");
  sub->callback([options, &status] { status = send(*options); });
}

}  // namespace digd::cli
