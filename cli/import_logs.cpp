// digctl import claude-code, codex, gemini, opencode: session logs into traces (docs/coding-agents.md).
//
// The sessions are read on several threads, each session by one. What cannot be read is named, and the rest goes on.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "cli/session_logs.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;

constexpr unsigned max_threads = 8;
constexpr std::size_t max_limit = 1'000'000;  // of a guard

struct log_import_options {
  std::vector<std::string> paths;
  std::string out;
  bool quiet = false;
  hooks::log_options guards;
};

class log_import {
 public:
  log_import(const hooks::log_program& program, const log_import_options& options)
      : program_(program), options_(options), progress_(options.quiet) {}

  int run() {
    found_sessions found = find_sessions(program_.name, options_.paths);
    for (const std::string& problem : found.problems) complain(problem);
    sessions_ = std::move(found.sessions);
    if (sessions_.empty() && failed_ == 0) complain("there are no session logs");
    if (sessions_.empty()) return wrong_use;
    std::error_code ec;
    fs::create_directories(options_.out, ec);
    if (!fs::is_directory(options_.out, ec)) {
      complain(shown(options_.out) + ": not a folder");
      return wrong_use;
    }
    const std::size_t wanted = std::clamp(std::thread::hardware_concurrency(), 1u, max_threads);
    progress_.begin({.name = "importing", .total = sessions_.size(), .unit = "sessions"});
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < std::min(wanted, sessions_.size()); ++i)
      threads.emplace_back([this] { import_some(); });
    for (std::thread& thread : threads) thread.join();
    report();
    return failed_ == 0 ? done : wrong_use;
  }

 private:
  void complain(const std::string& problem) {
    const std::lock_guard lock(mutex_);
    const auto held = progress_.pause();
    std::cerr << "digctl import " << program_.name << ": " << problem << '\n';
    ++failed_;
  }

  // Whether no session has written this trace.
  bool reserve(const fs::path& trace) {
    const std::lock_guard lock(mutex_);
    return written_.insert(trace).second;
  }

  void import_some() {
    for (std::size_t i = next_++; i < sessions_.size(); i = next_++) import(sessions_[i]);
  }

  void import(const session_files& session) {
    std::string problem;
    const std::vector<hooks::log_file> files = load_session(program_.name, session, problem);
    if (!problem.empty()) return complain(problem);
    const hooks::imported_session made = program_.import(session.id, files, options_.guards);
    for (const hooks::damaged_line& each : made.damaged) {
      complain(each.file + ": line " + std::to_string(each.line) + ": " + each.reason);
    }
    bool is_whole = true;
    for (const hooks::imported_run& run : made.runs) {
      std::string name = run.run, text;
      std::replace(name.begin(), name.end(), '/', '.');
      const fs::path to = fs::path(options_.out) / (name + ".jsonl");
      if (!reserve(to)) {
        complain(shown(session.files.front()) + ": its trace would overwrite " + shown(to) +
                 ", the trace of another session");
        is_whole = false;
        continue;
      }
      for (const std::string& line : run.lines) (text += line) += '\n';
      problem = write_file(to, text);
      if (!problem.empty()) return complain(shown(to) + ": " + problem);
    }
    if (!is_whole) return;
    const std::lock_guard lock(mutex_);
    ++imported_;
    runs_ += made.runs.size();
    calls_ += made.calls;
    damaged_lines_ += made.damaged_lines;
    progress_.add();
  }

  void report() {
    if (options_.quiet) return;
    const auto held = progress_.pause();
    std::cerr << imported_ << " of " << sessions_.size() << " sessions imported: " << runs_ << " runs, " << calls_
              << " hook calls";
    if (damaged_lines_ > 0) std::cerr << "; " << damaged_lines_ << " damaged lines left out";
    std::cerr << '\n';
  }

  const hooks::log_program& program_;
  const log_import_options& options_;
  std::vector<session_files> sessions_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;  // of the counts and of `written_`
  std::set<fs::path> written_;
  std::size_t imported_ = 0, runs_ = 0, calls_ = 0, damaged_lines_ = 0, failed_ = 0;
  progress progress_;
};

}  // namespace

void add_import_logs(CLI::App& import, int& status) {
  for (const hooks::log_program& program : hooks::log_programs) {
    auto options = std::make_shared<log_import_options>();
    CLI::App* sub = import.add_subcommand(
        std::string(program.name), "Reads session logs of " + std::string(program.title) + ", with their subagents'");
    sub->add_option("PATH", options->paths, "logs, or folders of them such as " + std::string(program.place))
        ->required();
    sub->add_option("-o,--output", options->out, "the folder for the traces, one for each run")->required();
    sub->add_option("--max-repeats", options->guards.max_repeats,
                    "let the guard repetition judge the traces with this limit; 0: off")
        ->check(CLI::Range(std::size_t{0}, max_limit));
    sub->add_option("--max-outputs", options->guards.max_outputs,
                    "let the guard fan_out judge the traces with this limit; 0: off")
        ->check(CLI::Range(std::size_t{0}, max_limit));
    sub->add_flag("-q,--quiet", options->quiet, "no report on standard error except failures");
    sub->callback([options, &status, &program] { status = log_import(program, *options).run(); });
  }
}

}  // namespace digd::cli
