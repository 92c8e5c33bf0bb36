// Reads the transcripts that HTTP hooks name, so that engine threads never wait for the disk.
//
// Threads: `read` any; `then` is called on the transcripts' thread. Bounds: `max_waiting` transcripts; a call whose
// transcript is not read continues without usage. Lifetime: ends before what `then` uses; the transcripts that wait
// then are dropped. Failure: no facts, and a counter says why.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/metrics/hook_counts.h"
#include "ingest/hooks/call.h"
#include "ingest/hooks/transcript.h"

namespace digd::daemon {

class transcript_thread {
 public:
  static constexpr std::size_t max_waiting = 64;
  using next_step = std::function<void(std::optional<hooks::transcript_facts>&&)>;

  // Without folders no thread starts, and no transcript is read.
  transcript_thread(std::vector<std::string> roots, hook_counts& counts);
  ~transcript_thread();

  // False: there is nothing to read, or too many wait; then `then` is not called.
  bool read(const hooks::call& of, next_step then);

 private:
  struct waiting_transcript {
    std::string path;
    std::size_t max_bytes;
    next_step then;
  };
  void serve();
  std::optional<hooks::transcript_facts> facts_of(const waiting_transcript& wanted) const;

  const std::vector<std::string> roots_;
  hook_counts& counts_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<waiting_transcript> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace digd::daemon
