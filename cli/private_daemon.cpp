#include "cli/private_daemon.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "cli/files.h"

namespace digd::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t max_shown_log = 4096;

// DIGD_BIN, else the digd beside this digctl, else the one in PATH.
std::string find_digd() {
  if (const char* named = std::getenv("DIGD_BIN"); named != nullptr && *named != '\0') return named;
  std::error_code ec;
  const fs::path beside = fs::read_symlink("/proc/self/exe", ec).parent_path() / "digd";
  return ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "digd";
}

}  // namespace

stop_signals::stop_signals() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGINT);
  sigaddset(&set_, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set_, &before_);
}

stop_signals::~stop_signals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

bool stop_signals::arrived() {
  const timespec time{0, std::chrono::nanoseconds(poll_time).count()};
  arrived_ = arrived_ || ::sigtimedwait(&set_, nullptr, &time) > 0;
  return arrived_;
}

private_daemon::private_daemon(const std::string& name) {
  std::error_code none;
  std::string pattern = (fs::temp_directory_path(none) / ("digd-" + name + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
}

private_daemon::~private_daemon() {
  process_.end();
  std::error_code none;
  if (!folder_.empty()) fs::remove_all(folder_, none);
}

std::string private_daemon::last_log() const {
  std::string problem;
  const std::string text = read_file(folder_ / "digd.log", std::size_t{64} << 20, problem).value_or(std::string());
  return text.size() > max_shown_log ? text.substr(text.size() - max_shown_log) : text;
}

std::string private_daemon::problem() { return process_.ended() ? program_ + " ended: " + last_log() : std::string(); }

std::string private_daemon::start(const settings& with, stop_signals& signals) {
  if (folder_.empty()) return "no temporary folder: set TMPDIR to a folder that is writable";
  program_ = find_digd();
  std::vector<std::string> words{program_, "--listen", with.listen, "--data-dir", folder_ / "data"};
  if (!with.config.empty()) words.insert(words.end(), {"--config", with.config});
  const std::string start_problem = process_.start(
      {.words = words, .variables = with.variables, .inherits_digd_variables = false, .log = folder_ / "digd.log"});
  if (!start_problem.empty()) return start_problem + "; install digd beside digctl, or name it in DIGD_BIN";
  const auto deadline = std::chrono::steady_clock::now() + max_start_time;
  while (!signals.arrived() && std::chrono::steady_clock::now() < deadline) {
    if (std::string ended = problem(); !ended.empty()) return ended;
    if (std::ifstream file(folder_ / "data" / "digd.address"); std::getline(file, address_)) {
      return address_.starts_with("unix:") ? "--listen needs an address that a browser can open: HOST:PORT"
                                           : std::string();
    }
  }
  return program_ + " did not write its address within a minute: " + last_log();
}

void open_page(const std::string& url) {
  const bool has_desktop = std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  if (!has_desktop || std::system(("xdg-open '" + url + "' >/dev/null 2>&1 &").c_str()) != 0)
    std::cerr << "Open that page in a browser.\n";
}

}  // namespace digd::cli
