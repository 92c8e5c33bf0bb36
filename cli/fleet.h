// Reads runs of a fleet (docs/fleet.md). Python's digd.fleet reads the Parquet files and the stream; digctl writes the
// rows into an archive in a private folder and reads that as any other.
//
// Thread: one; calls block. Failure: an error sentence or a null pointer, after a message on standard error. Bounds:
// one line of Python's output is in memory, and the archive is as large as the selected runs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/child_process.h"
#include "cli/fleet_options.h"

namespace digd::cli {

// What to read of a fleet. Empty and 0: all runs.
struct fleet_selection {
  std::string run;
  std::size_t limit = 0;
  std::int64_t since_ms = 0;
};

// Lines that `python3 -m digd.fleet COMMAND` prints.
class fleet_lines {
 public:
  ~fleet_lines();
  fleet_lines() = default;
  fleet_lines(const fleet_lines&) = delete;
  fleet_lines& operator=(const fleet_lines&) = delete;

  std::string start(const std::vector<std::string>& words);
  // Reads a file of such lines instead.
  std::string open(const std::string& file);
  // False at the end.
  bool next(std::string_view& line);
  // Waits for the program. An error sentence if it failed; it has written the reason to standard error.
  std::string finish();

 private:
  child_process program_;
  bool is_file_ = false;
  std::FILE* from_ = nullptr;
  char* line_ = nullptr;
  std::size_t room_ = 0;
  bool any_ = false;
};

// The options of the fleet as Python takes them.
std::vector<std::string> fleet_words(const std::string& command, const fleet_options& options);

// A folder with the file digd.sqlite. The destructor removes it, and so do SIGINT, SIGTERM and SIGHUP.
class fleet_archive {
 public:
  // Null, with `problem` set.
  static std::unique_ptr<fleet_archive> make(const fleet_options& options, const fleet_selection& selection,
                                             std::string& problem, bool is_quiet = false);
  ~fleet_archive();
  fleet_archive(const fleet_archive&) = delete;
  fleet_archive& operator=(const fleet_archive&) = delete;

  const std::string& folder() const { return folder_; }

 private:
  fleet_archive() = default;
  std::string fill(const fleet_options& options, const fleet_selection& selection);

  std::string folder_;
};

// Options of a command whose work `digctl work` can do (docs/fleet.md, "Passes over many runs").
struct pass_options {
  bool on_workers = false, again = false;
};
void add_pass_options(CLI::App& app, pass_options& options);
// The options that a command was given, as words; without those of fleets, daemons and passes.
std::vector<std::string> given_words(const CLI::App& app);
// The path of this digctl, which Python calls for each task.
std::string digctl_path();
// Replaces this process by a pass over the runs that `--where` selects; if `run` is not empty, over that run only.
int exec_pass(const std::string& command, const CLI::App& app, const fleet_options& fleet, const pass_options& options,
              const std::string& run = {}, const std::vector<std::string>& more_words = {});

// Replaces this process by `python3 -m digd.fleet WORDS`. Returns only if that fails.
int exec_fleet_program(const std::string& command, std::vector<std::string> words);

}  // namespace digd::cli
