// A program that digd starts with few rights: it reads one text from its standard input and writes one to its output.
//
// The process has a limit on its address space and its CPU time, can write no file, opens no socket, inherits no file
// and no variable of digd, and dies with the thread that started it. Thread: one. Bounds: `max_output_bytes` of output
// and `max_error_bytes` of the error text are kept; further output is a failure, further error text is dropped.
// Failure: sentences for people. Lifetime: `stopping` outlives it; the destructor ends the process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace digd::daemon {

struct child_limits {
  std::uint64_t max_memory_bytes = 0;
  std::chrono::seconds max_time{0};  // on the clock; the CPU time has the same limit
};

class limited_child {
 public:
  static constexpr std::size_t max_output_bytes = 1u << 20, max_error_bytes = 4'096;
  // How often a waiting call checks whether it must stop.
  static constexpr std::chrono::milliseconds check_interval{100};

  explicit limited_child(const std::atomic<bool>& stopping) : stopping_(stopping) {}
  ~limited_child() { end(); }
  limited_child(const limited_child&) = delete;
  limited_child& operator=(const limited_child&) = delete;

  // These return a problem in words, and nothing on success. After a problem the process has ended.
  std::string start(const std::string& program, std::vector<std::string> arguments, child_limits limits);
  std::string write(std::string_view text);
  // Closes the input and waits for the end of the process.
  std::string finish();

  const std::string& output() const { return output_; }

 private:
  std::string wait(bool for_room);
  std::string take_output();
  std::string problem_of(int status) const;
  void end();

  const std::atomic<bool>& stopping_;
  child_limits limits_;
  std::chrono::steady_clock::time_point deadline_;
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;  // digd's ends
  std::string output_, errors_;
};

}  // namespace digd::daemon
