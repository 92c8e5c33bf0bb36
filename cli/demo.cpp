// digctl demo: a private daemon, and a scripted team or an example program that attaches to it. Until Ctrl-C.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "base/child_process.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/demo_files.h"
#include "cli/files.h"
#include "cli/private_daemon.h"
#include "cli/python.h"

namespace digd::cli {

namespace fs = std::filesystem;

namespace {

struct demo_options {
  std::string attach, python, listen = "127.0.0.1:0";
  double speed = 1;
  bool no_open = false, exits = false;
};

fs::path own_program() {
  std::error_code ec;
  return fs::read_symlink("/proc/self/exe", ec);
}

class demonstration {
 public:
  explicit demonstration(const demo_options& options) : options_(options) {}

  int run() {
    const std::string problem = daemon_.start({.listen = options_.listen}, signals_);
    if (stopped_ = signals_.arrived(); stopped_) return done;
    if (!problem.empty()) return complain("demo", problem);
    std::cerr << "A private digd runs at " << page() << "\n";
    if (!options_.no_open) open_page(page());
    const int status = options_.attach.empty() ? play_team() : run_example();
    if (status != done || stopped_ || options_.exits) return status;
    std::cerr << "\nThe page stays at " << page() << " until you press Ctrl-C. The archive is then deleted.\n";
    while (!signals_.arrived()) {
      if (const std::string ended = daemon_.problem(); !ended.empty()) return complain("demo", ended);
    }
    return done;
  }

 private:
  // The page of the scripted team's run, which appears there once it begins. The ids of other runs are not known yet.
  std::string page() const { return options_.attach.empty() ? daemon_.url() + "#/run/demo" : daemon_.url(); }

  // Runs a program to its end, or until Ctrl-C. Its exit status; `done` after Ctrl-C; -1 if it cannot be started.
  int run_program(const child_command& command) {
    child_process child;
    if (const std::string problem = child.start(command); !problem.empty()) {
      complain("demo", problem);
      return -1;
    }
    while (true) {
      if (const auto status = child.ended()) return *status;
      if (stopped_ = signals_.arrived(); stopped_) return done;
    }
  }

  int play_team() {
    const fs::path trace = daemon_.folder() / "demo.jsonl";
    if (const std::string problem = write_file(trace, demo_trace()); !problem.empty())
      return complain("demo", shown(trace) + ": " + problem);
    std::cerr << "Four scripted agents prepare a release and make each of seven mistakes once. digd judges every\n"
                 "message before delivery, and heals. No language model is involved.\n\n";
    std::ostringstream speed;
    speed << options_.speed;
    return run_program({.words = {own_program(), "send", trace, "--to", daemon_.address(), "--speed", speed.str()},
                        .variables = {},
                        .inherits_digd_variables = false,
                        .log = {}}) == done
               ? done
               : wrong_use;
  }

  const demo_example& example() const {
    for (const demo_example& known : demo_examples()) {
      if (known.framework == options_.attach) return known;
    }
    std::abort();  // the parser accepts only these names
  }

  // Keeps a file that the user has changed, and runs it.
  std::string write_example() const {
    const demo_example& chosen = example();
    const fs::path path(chosen.file);
    if (std::error_code ec; fs::exists(path, ec)) {
      std::cerr << "Running the " << chosen.file << " that is in this folder already.\n";
      return {};
    }
    if (std::string problem = write_file(path, chosen.text); !problem.empty()) return shown(path) + ": " + problem;
    std::cerr << "Wrote " << chosen.file << ".\n";
    return {};
  }

  int run_example() {
    if (const std::string problem = write_example(); !problem.empty()) return complain("demo", problem);
    const struct {
      const char *mode, *title;
    } rounds[] = {{"shadow", "Broken: digd judges and changes nothing (DIGD_MODE=shadow)"},
                  {"enforce", "Healed: digd heals (DIGD_MODE=enforce)"}};
    for (const auto& round : rounds) {
      std::cerr << "\n--- " << round.title << std::endl;
      const int status = run_program({.words = {options_.python, std::string(example().file)},
                                      .variables = {{"DIGD_URL", daemon_.address()}, {"DIGD_MODE", round.mode}},
                                      .inherits_digd_variables = false,
                                      .log = {}});
      if (stopped_) return done;
      if (status != 0) {
        const std::string extra = options_.attach == "python" ? "" : '[' + options_.attach + ']';
        return complain("demo", "the example failed. If a module is missing in " + options_.python +
                                    ": pip install 'WHEEL" + extra +
                                    "', where WHEEL is the file of digd's wheel; --python selects another interpreter");
      }
    }
    return done;
  }

  const demo_options& options_;
  stop_signals signals_;
  private_daemon daemon_{"demo"};
  bool stopped_ = false;
};

}  // namespace

void add_demo(CLI::App& app, int& status) {
  auto options = std::make_shared<demo_options>();
  CLI::App* sub = app.add_subcommand("demo", "Starts a private daemon and plays a scripted team, until Ctrl-C");
  std::vector<std::string> frameworks;
  for (const demo_example& known : demo_examples()) frameworks.emplace_back(known.framework);
  sub->add_option("--attach", options->attach,
                  "write an example for this framework into the current folder, and run it twice: without and with "
                  "healing. Default: play a scripted team")
      ->check(CLI::IsMember(frameworks));
  sub->add_option("--speed", options->speed, "speed of the scripted team: 2 is twice as fast as real time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options->python = python_interpreter();
  sub->add_option("--python", options->python, "the interpreter for --attach; default: DIGD_PYTHON, otherwise python3");
  sub->add_option("--listen", options->listen, "the address of the private daemon; port 0: any free port")
      ->capture_default_str();
  sub->add_flag("--no-open", options->no_open, "do not open the page in a browser");
  sub->add_flag("--exit", options->exits, "stop after the demonstration instead of waiting for Ctrl-C");
  sub->callback([options, &status] { status = demonstration(*options).run(); });
}

}  // namespace digd::cli
