// digctl demo: a private daemon, and a scripted team or an example program that attaches to it. Until Ctrl-C.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/demo_files.h"
#include "cli/files.h"

namespace digd::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds max_start_time{60};
constexpr std::chrono::milliseconds poll_time{50};
constexpr std::size_t max_shown_log = 4096;

struct demo_options {
  std::string attach, python, listen = "127.0.0.1:0";
  double speed = 1;
  bool no_open = false, exits = false;
};

// A folder in the temporary directory; removed at the end.
struct private_folder {
  fs::path path;

  private_folder() {
    std::error_code none;
    std::string pattern = (fs::temp_directory_path(none) / "digd-demo-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path = pattern;
  }
  ~private_folder() {
    std::error_code none;
    if (!path.empty()) fs::remove_all(path, none);
  }
  private_folder(const private_folder&) = delete;
  private_folder& operator=(const private_folder&) = delete;
};

// Blocks SIGINT and SIGTERM, so that Ctrl-C ends the demonstration in order.
class stop_signals {
 public:
  stop_signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~stop_signals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;

  // Waits at most `poll_time`. True: one arrived, now or before.
  bool arrived() {
    const timespec time{0, std::chrono::nanoseconds(poll_time).count()};
    arrived_ = arrived_ || ::sigtimedwait(&set_, nullptr, &time) > 0;
    return arrived_;
  }

 private:
  sigset_t set_{}, before_{};
  bool arrived_ = false;
};

fs::path own_program() {
  std::error_code ec;
  return fs::read_symlink("/proc/self/exe", ec);
}

// DIGD_BIN, else the digd beside this digctl, else the one in PATH.
std::string find_digd() {
  if (const char* named = std::getenv("DIGD_BIN"); named != nullptr && *named != '\0') return named;
  const fs::path beside = own_program().parent_path() / "digd";
  return ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "digd";
}

std::string last_of(const fs::path& log) {
  std::string why;
  const std::string text = read_file(log, std::size_t{64} << 20, why).value_or(std::string());
  return text.size() > max_shown_log ? text.substr(text.size() - max_shown_log) : text;
}

// Empty: the desktop opens the page, or there is no desktop.
void open_page(const std::string& url) {
  const bool has_desktop = std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  if (!has_desktop || std::system(("xdg-open '" + url + "' >/dev/null 2>&1 &").c_str()) != 0)
    std::cerr << "Open that page in a browser.\n";
}

class demonstration {
 public:
  explicit demonstration(const demo_options& options) : options_(options) {}

  int run() {
    if (folder_.path.empty()) return complain("demo", "no temporary folder: set TMPDIR to a folder that is writable");
    if (std::string why = start_daemon(); !why.empty()) return stopped_ ? done : complain("demo", why);
    std::cerr << "A private digd runs at " << page() << "\n";
    if (!options_.no_open) open_page(page());
    const int status = options_.attach.empty() ? play_team() : run_example();
    if (status != done || stopped_ || options_.exits) return status;
    std::cerr << "\nThe page stays at " << page() << " until you press Ctrl-C. The archive is then deleted.\n";
    while (!signals_.arrived()) {
      if (const auto ended = daemon_.ended()) return complain("demo", "digd ended: " + last_of(log()));
    }
    return done;
  }

 private:
  fs::path log() const { return folder_.path / "digd.log"; }
  // The page of the scripted team's run, which appears there once it begins. The ids of other runs are not known yet.
  std::string page() const { return options_.attach.empty() ? url_ + "#/run/demo" : url_; }

  std::string start_daemon() {
    const std::string program = find_digd();
    std::string why =
        daemon_.start({.words = {program, "--listen", options_.listen, "--data-dir", folder_.path / "data"},
                       .variables = {},
                       .inherits_digd_variables = false,
                       .log = log()});
    if (!why.empty()) return why + "; install digd beside digctl, or name it in DIGD_BIN";
    const auto deadline = std::chrono::steady_clock::now() + max_start_time;
    while (!(stopped_ = signals_.arrived()) && std::chrono::steady_clock::now() < deadline) {
      if (daemon_.ended()) return program + " ended: " + last_of(log());
      if (std::ifstream file(folder_.path / "data" / "digd.address"); std::getline(file, address_)) {
        if (address_.starts_with("unix:")) return "--listen needs an address that a browser can open: HOST:PORT";
        url_ = "http://" + address_ + "/";
        return {};
      }
    }
    return program + " did not write its address within a minute: " + last_of(log());
  }

  // Runs a program to its end, or until Ctrl-C. Its exit status; `done` after Ctrl-C; -1 if it cannot be started.
  int run_program(const child_command& command) {
    child_process child;
    if (const std::string why = child.start(command); !why.empty()) {
      complain("demo", why);
      return -1;
    }
    while (true) {
      if (const auto status = child.ended()) return *status;
      if (stopped_ = signals_.arrived(); stopped_) return done;
    }
  }

  int play_team() {
    const fs::path trace = folder_.path / "demo.jsonl";
    if (const std::string why = write_file(trace, demo_trace()); !why.empty()) return complain("demo", why);
    std::cerr << "Four scripted agents prepare a release and make each of seven mistakes once. digd judges every\n"
                 "message before delivery, and heals. No language model is involved.\n\n";
    std::ostringstream speed;
    speed << options_.speed;
    return run_program({.words = {own_program(), "send", trace, "--to", address_, "--speed", speed.str()},
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
    if (std::string why = write_file(path, chosen.text); !why.empty()) return why;
    std::cerr << "Wrote " << chosen.file << ".\n";
    return {};
  }

  int run_example() {
    if (const std::string why = write_example(); !why.empty()) return complain("demo", why);
    const struct {
      const char *mode, *title;
    } rounds[] = {{"shadow", "Broken: digd judges and changes nothing (DIGD_MODE=shadow)"},
                  {"enforce", "Healed: digd heals (DIGD_MODE=enforce)"}};
    for (const auto& round : rounds) {
      std::cerr << "\n--- " << round.title << std::endl;
      const int status = run_program({.words = {options_.python, std::string(example().file)},
                                      .variables = {{"DIGD_URL", address_}, {"DIGD_MODE", round.mode}},
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
  private_folder folder_;  // outlives the daemon, which writes into it
  stop_signals signals_;
  child_process daemon_;
  std::string address_, url_;
  bool stopped_ = false;
};

std::string default_python() {
  const char* named = std::getenv("DIGD_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

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
  options->python = default_python();
  sub->add_option("--python", options->python, "the interpreter for --attach; default: DIGD_PYTHON, otherwise python3");
  sub->add_option("--listen", options->listen, "the address of the private daemon; port 0: any free port")
      ->capture_default_str();
  sub->add_flag("--no-open", options->no_open, "do not open the page in a browser");
  sub->add_flag("--exit", options->exits, "stop after the demonstration instead of waiting for Ctrl-C");
  sub->callback([options, &status] { status = demonstration(*options).run(); });
}

}  // namespace digd::cli
