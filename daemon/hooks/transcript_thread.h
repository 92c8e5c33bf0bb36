// Reads the transcripts that HTTP hooks name, so that engine threads never wait for the disk.
//
// Threads: `add_usage` any; `then` is called on the transcripts' thread, or on the caller's if the call needs no file.
// Bounds: `max_waiting` calls; a further one continues without usage. Lifetime: ends before what `then` uses; the calls
// that wait then are dropped. Failure: the call continues without usage, and a counter says why.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/metrics/hook_counts.h"
#include "ingest/hooks/call.h"

namespace digd::daemon {

class transcript_thread {
 public:
  static constexpr std::size_t max_waiting = 64;
  using next_step = std::function<void(hooks::call&&)>;

  // Without folders no thread starts, and no transcript is read.
  transcript_thread(std::vector<std::string> roots, hook_counts& counts);
  ~transcript_thread();

  void add_usage(hooks::call&& call, next_step then);

 private:
  struct waiting_call {
    hooks::call call;
    next_step then;
  };
  void serve();
  void read_into(hooks::call& call) const;

  const std::vector<std::string> roots_;
  hook_counts& counts_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<waiting_call> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace digd::daemon
