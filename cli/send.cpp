// digctl send TRACE: plays a trace to a daemon, as the client that recorded it would have.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/frame_rows.h"
#include "cli/terminal_options.h"
#include "ingest/trace_player.h"

namespace digd::cli {

namespace {

struct send_options {
  std::string trace;
  std::string to = "ws://127.0.0.1:7344";
  std::string run;
  std::string token_file;
  std::string format = "table";
  double speed = 0;
  double timeout_s = 30;
  terminal_options terminal;
};

constexpr std::size_t rows_at_once = 256;

// Frames to standard output, as they come or as a table in portions.
class frame_printer {
 public:
  explicit frame_printer(const send_options& how)
      : lines_(how.format == "jsonl"),
        table_(frame_table({how.terminal.on_terminal() || how.terminal.width != 0 ? how.terminal.columns() : 0,
                            how.terminal.colored()})) {}

  void frame(std::string_view text) {
    if (lines_) {
      std::cout << text << '\n';
      return;
    }
    add_frame(table_, text);
    if (table_.waiting() >= rows_at_once) table_.print(std::cout);
  }
  void idle() {
    if (!lines_ && table_.waiting() > 0) table_.print(std::cout);
    std::cout.flush();
  }
  void finish() {
    if (!lines_) table_.print(std::cout);
    std::cout.flush();
  }

 private:
  const bool lines_;
  table table_;
};

bool find_token(const send_options& how, std::string& token) {
  if (how.token_file.empty()) {
    const char* given = std::getenv("DIGD_TOKEN");
    token = given ? given : "";
    return true;
  }
  std::string why;
  const std::optional<std::string> text = read_file(how.token_file, 4096, why);
  if (!text) {
    std::cerr << "digctl send: " << shown(how.token_file) << ": " << why << '\n';
    return false;
  }
  token = text->substr(0, text->find_first_of("\r\n"));
  return true;
}

void report(const ingest::play_counts& c) {
  std::cerr << c.messages << " messages, " << c.verdicts << " verdicts, " << c.interventions << " interventions, " << c.errors
            << " errors; " << c.acked << " acked";
  if (c.known > 0) std::cerr << ", " << c.known << " were there before";
  if (c.reconnects > 0) std::cerr << ", " << c.reconnects << (c.reconnects == 1 ? " reconnect" : " reconnects");
  if (c.unheard > 0) std::cerr << "; " << c.unheard << " answers were lost with a connection (delivered as is)";
  std::cerr << '\n';
}

int send(const send_options& how) {
  ingest::play_options play;
  std::string why;
  const std::optional<ingest::server_address> to = ingest::parse_address(how.to, why);
  if (!to) {
    std::cerr << "digctl send: --to: " << why << '\n';
    return wrong_use;
  }
  play.to = *to;
  play.run = how.run;
  play.speed = how.speed;
  play.patience = std::chrono::milliseconds(static_cast<std::int64_t>(how.timeout_s * 1000));
  if (!find_token(how, play.token)) return wrong_use;
  std::ifstream file;
  if (how.trace != "-") {
    file.open(how.trace, std::ios::binary);
    if (!file || std::filesystem::is_directory(how.trace)) {
      std::cerr << "digctl send: " << shown(how.trace) << ": cannot be read\n";
      return wrong_use;
    }
  }
  std::istream& in = how.trace == "-" ? std::cin : file;
  frame_printer print(how);
  ingest::trace_player player(play, {.frame = [&](std::string_view frame) { print.frame(frame); },
                                     .notice = [](std::string_view text) { std::cerr << "digctl send: " << text << '\n'; },
                                     .idle = [&] { print.idle(); }});
  std::string line;
  bool good = true, any = false;
  while (good && std::getline(in, line)) {
    good = player.line(line);
    any = any || line.find_first_not_of(" \t\r") != std::string::npos;
  }
  good = good && player.finish();
  print.finish();
  if (!good) std::cerr << "digctl send: " << shown(how.trace) << ": " << player.problem() << '\n';
  if (good && !any) std::cerr << "digctl send: " << shown(how.trace) << ": no trace: the file is empty\n";
  if (good && any) report(player.counted());
  return good && any ? done : wrong_use;
}

}  // namespace

void add_send(CLI::App& app, int& status) {
  auto how = std::make_shared<send_options>();
  CLI::App* sub = app.add_subcommand("send", "Plays a trace to a daemon and prints what it answers");
  sub->add_option("TRACE", how->trace, "trace file (JSON lines); - for standard input")->required();
  sub->add_option("--to", how->to, "the daemon: ws://HOST:PORT, ws+unix:/PATH or unix:/PATH")->capture_default_str();
  sub->add_option("--run", how->run, "play it as this run, not under the trace's name");
  sub->add_option("--speed", how->speed, "1: in real time, as the messages' ts say; 10: ten times as fast; default: as fast as it goes")
      ->check(CLI::PositiveNumber);
  sub->add_option("--format", how->format, "table for people; jsonl: the frames, as `replay --output messages` prints them")
      ->check(CLI::IsMember({"table", "jsonl"}))
      ->capture_default_str();
  sub->add_option("--timeout", how->timeout_s, "seconds to wait for an answer, an ack or a connection")
      ->check(CLI::Range(0.01, 86'400.0))
      ->capture_default_str();
  sub->add_option("--token-file", how->token_file, "a file with the daemon's token; else the environment's DIGD_TOKEN");
  add_terminal_options(*sub, how->terminal);
  sub->footer("A hello that names no clock is sent with \"clock\":\"trace\", so that the trace's own times count.");
  sub->callback([how, &status] { status = send(*how); });
}

}  // namespace digd::cli
