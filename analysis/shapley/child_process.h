// A child process that answers line by line over one socket pair. Internal to analysis/shapley.
//
// The child runs in its own process group. Owns the process and the socket; the destructor ends both. Not thread-safe.
// Failure: texts, empty on success.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

namespace digd::shapley {

inline constexpr std::size_t max_line_bytes = 64u << 20;  // of an answer

class child_process {
 public:
  child_process() = default;
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process() { end(); }

  // Ends a running child and starts `command` with /bin/sh -c.
  std::string start(const std::string& command);
  bool running() const { return pid_ > 0; }
  // Sends `line` and waits at most `timeout_ms` for one line in answer (at most `max_line_bytes`).
  std::string converse(std::string_view line, std::string& answer, int timeout_ms, const std::atomic<bool>* stop);
  // Closes the socket, waits up to 200 ms for the exit, then kills the process group.
  void end();

 private:
  using deadline = long long;  // steady clock, ms
  std::string wait(short events, deadline until, const std::atomic<bool>* stop) const;

  pid_t pid_ = -1;
  int socket_ = -1;
  std::string unread_;
};

}  // namespace digd::shapley
