// A child that is talked to in lines over one socket pair. Internal to analysis/shapley.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <string_view>

namespace digd::shapley {

class child_process {
 public:
  child_process() = default;
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process() { end(); }

  // Empty, or why it could not be started.
  std::string start(const std::string& command);
  bool running() const { return pid_ > 0; }
  // Says `line` and reads one in answer, within the time. Empty, or what went wrong.
  std::string converse(std::string_view line, std::string& answer, int timeout_ms, const std::atomic<bool>* stop);
  // Closes its input, gives it a moment, then ends it.
  void end();

 private:
  using deadline = long long;  // of the steady clock, ms
  std::string wait(short events, deadline until, const std::atomic<bool>* stop) const;

  pid_t pid_ = -1;
  int socket_ = -1;
  std::string unread_;
};

}  // namespace digd::shapley
