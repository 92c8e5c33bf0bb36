#include "cli/fleet.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>

#include "archive/row_import.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/progress.h"
#include "cli/python.h"
#include "ingest/protocol/decode.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* advice =
    "digctl --fleet calls Python's digd.fleet: pip install 'WHEEL[fleet]', where WHEEL is the file of digd's wheel; "
    "DIGD_PYTHON names the interpreter";
constexpr std::string_view rows_scheme = "rows:";  // and a file that `python3 -m digd.fleet rows` wrote
constexpr std::array<const char*, 4> archive_files{"digd.sqlite", "digd.sqlite-wal", "digd.sqlite-shm",
                                                   "digd.sqlite-journal"};

// The files to remove on a signal. The handler only calls functions that are safe there.
std::array<std::array<char, 512>, archive_files.size()> doomed_files{};
std::array<char, 512> doomed_folder{};

void remove_on_signal(int number) {
  for (const auto& file : doomed_files) ::unlink(file.data());
  ::rmdir(doomed_folder.data());
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void guard_folder(const std::string& folder) {
  const auto keep = [](std::array<char, 512>& to, const std::string& path) {
    if (path.size() < to.size()) std::memcpy(to.data(), path.c_str(), path.size() + 1);
  };
  for (std::size_t i = 0; i < archive_files.size(); ++i) keep(doomed_files[i], folder + '/' + archive_files[i]);
  keep(doomed_folder, folder);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, remove_on_signal);
}

std::optional<usage_amounts> usage_of(std::string_view frame) {
  thread_local ingest::decoder decoder;
  message decoded;
  if (decoder.decode(frame, decoded).refused) return std::nullopt;
  return decoded.usage;
}

}  // namespace

std::vector<std::string> fleet_words(const std::string& command, const fleet_options& options) {
  std::vector<std::string> words{command};
  for (const std::string& url : options.urls) words.push_back("--fleet=" + url);
  if (!options.credentials.empty()) words.push_back("--credentials=" + options.credentials);
  if (!options.authority.empty()) words.push_back("--ca=" + options.authority);
  return words;
}

// ---- what Python prints

fleet_lines::~fleet_lines() {
  if (from_ != nullptr) std::fclose(from_);
  std::free(line_);
}

std::string fleet_lines::start(const std::vector<std::string>& words) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return std::string("no pipe: ") + std::strerror(errno);
  child_command command{.words = {python_interpreter(), "-m", "digd.fleet"}, .output = pipe[1]};
  command.words.insert(command.words.end(), words.begin(), words.end());
  std::string problem = program_.start(command);
  ::close(pipe[1]);
  from_ = ::fdopen(pipe[0], "r");
  return problem.empty() ? problem : problem + "; " + advice;
}

std::string fleet_lines::open(const std::string& file) {
  is_file_ = true;
  from_ = std::fopen(file.c_str(), "re");
  return from_ != nullptr ? std::string() : file + ": " + std::strerror(errno);
}

bool fleet_lines::next(std::string_view& line) {
  const ssize_t length = ::getline(&line_, &room_, from_);
  if (length <= 0) return false;
  any_ = true;
  line = {line_, static_cast<std::size_t>(length) - (line_[length - 1] == '\n')};
  return true;
}

std::string fleet_lines::finish() {
  if (is_file_) return std::ferror(from_) ? "the file cannot be read" : std::string();
  std::optional<int> status;
  while (!(status = program_.ended())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (*status == 0) return {};
  return *status == 1 && !any_ ? std::string("the fleet could not be read; ") + advice
                               : std::string("the fleet could not be read");
}

int exec_fleet_program(const std::string& command, std::vector<std::string> words) {
  words.insert(words.begin(), {python_interpreter(), "-m", "digd.fleet"});
  return complain(command, exec_program(std::move(words)) + "; " + advice);
}

// ---- passes over many runs

void add_pass_options(CLI::App& app, pass_options& options) {
  app.add_flag("--on-workers", options.on_workers,
               "with --fleet: let `digctl work` process the runs, on any number of hosts")
      ->group("A fleet");
  app.add_flag("--again", options.again, "with --on-workers: try tasks again that failed before")->group("A fleet");
}

std::string digctl_path() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none).string();
}

std::vector<std::string> given_words(const CLI::App& app) {
  constexpr std::array<std::string_view, 11> own{"--fleet-ca",   "--fleet",   "--where",   "--fleet-credentials",
                                                 "--on-workers", "--again",   "--to",      "--token-file",
                                                 "--ca",         "--timeout", "--data-dir"};
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string name = "--" + option->get_lnames().front();
    if (std::find(own.begin(), own.end(), name) != own.end()) continue;
    if (option->get_items_expected_max() == 0) words.push_back(name);
    else
      for (const std::string& value : option->results()) words.push_back(fmt::format("{}={}", name, value));
  }
  return words;
}

int exec_pass(const std::string& command, const CLI::App& app, const fleet_options& fleet, const pass_options& options,
              const std::string& run, const std::vector<std::string>& more_words) {
  std::vector<std::string> words = fleet_words("pass", effective_fleet(fleet));
  words.push_back("--digctl=" + digctl_path());
  if (!fleet.where.empty()) words.push_back("--where=" + fleet.where);
  if (!run.empty()) words.push_back("--run=" + run);
  if (options.on_workers) words.push_back("--on-workers");
  if (options.again) words.push_back("--again");
  words.push_back(command);
  for (const std::string& word : given_words(app)) words.push_back("--option=" + word);
  for (const std::string& word : more_words) words.push_back("--option=" + word);
  return exec_fleet_program(command, std::move(words));
}

// ---- an archive of the selected runs

std::unique_ptr<fleet_archive> fleet_archive::make(const fleet_options& options, const fleet_selection& selection,
                                                   std::string& problem, bool is_quiet) {
  std::unique_ptr<fleet_archive> made(new fleet_archive);
  std::error_code none;
  std::string pattern = (fs::temp_directory_path(none) / "digctl-fleet-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    problem = pattern + ": " + std::strerror(errno);
    return nullptr;
  }
  made->folder_ = pattern;
  guard_folder(pattern);
  problem = show_while(
      {.name = "reading the fleet"}, [&] { return made->fill(options, selection); }, is_quiet);
  if (problem.empty()) return made;
  problem.insert(0, "--fleet: ");
  return nullptr;
}

fleet_archive::~fleet_archive() {
  std::error_code none;
  if (!folder_.empty()) fs::remove_all(folder_, none);
}

std::string fleet_archive::fill(const fleet_options& options, const fleet_selection& selection) {
  archive::row_import into;
  if (const auto trouble = into.open(folder_ + "/digd.sqlite", usage_of)) return trouble.words;
  std::vector<std::string> words = fleet_words("rows", options);
  if (!options.where.empty()) words.push_back("--where=" + options.where);
  if (!selection.run.empty()) words.push_back("--run=" + selection.run);
  if (selection.limit > 0) words.push_back("--limit=" + std::to_string(selection.limit));
  if (selection.since_ms > 0) words.push_back("--since-ms=" + std::to_string(selection.since_ms));
  fleet_lines rows;
  const bool is_file = options.urls.size() == 1 && options.urls.front().starts_with(rows_scheme);
  std::string problem = is_file ? rows.open(options.urls.front().substr(rows_scheme.size())) : rows.start(words);
  std::string_view row;
  archive::failure bad;
  while (problem.empty() && !bad && rows.next(row)) bad = into.add(row);
  if (problem.empty() && bad) return "a row: " + bad.words;
  if (problem.empty()) problem = rows.finish();
  if (problem.empty() && (bad = into.finish())) problem = bad.words;
  return problem;
}

}  // namespace digd::cli
