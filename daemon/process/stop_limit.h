// Ends the process if stopping takes longer than a limit, whatever hangs: a disk, a lock or a thread.
//
// Thread: main's; the limit waits on a thread of its own. Failure: at the limit it logs a line and ends the process
// with the given status, without undoing anything. What is not durable then was never acknowledged.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace digd::daemon {

class stop_limit {
 public:
  stop_limit(std::chrono::milliseconds max_time, int status);
  ~stop_limit();  // digd has stopped
  stop_limit(const stop_limit&) = delete;
  stop_limit& operator=(const stop_limit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool has_stopped_ = false;
  std::thread thread_;
};

}  // namespace digd::daemon
