// A program that this one starts and ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace digd {

struct child_command {
  std::vector<std::string> words;                                   // the program, looked up in PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> variables = {};  // added to the environment
  bool inherits_digd_variables = true;  // false: DIGD_* variables of this process are removed
  std::string log = {};                 // a file for standard output and error; empty: those of this process
  int input = -1;                       // a descriptor for standard input; -1: empty
  int output = -1;                      // a descriptor for standard output; -1: as `log` says
};

// Owns one process: the destructor ends it. The process has its own process group, so that Ctrl-C in the terminal
// reaches only its parent, and inherits no other descriptors. Linux sends it SIGTERM if the thread that started it
// ends. Thread: the one that made it.
class child_process {
 public:
  child_process() = default;
  ~child_process() { end(); }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  // Returns an error sentence; empty on success.
  std::string start(const child_command& command);
  // The exit status once the process has ended; 128 and the signal's number after a signal.
  std::optional<int> ended();
  // Sends SIGTERM, and SIGKILL if the process still runs after `max_end_time`. Does nothing if it has ended.
  void end();

  static constexpr std::chrono::seconds max_end_time{30};  // digd stops within 25 s (systemd/digd.service)

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace digd
