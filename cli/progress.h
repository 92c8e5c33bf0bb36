// Shows a command's progress on standard error, if that is a terminal.
//
// Nothing appears in the first second. Then one line is redrawn ten times a second. The destructor clears it, and so
// do `pause` and `pause_for_output`, which a command holds while it writes to the terminal itself.
//
// Thread: draws on a thread of its own; `add` and `set` may be called by any thread, the rest by the owner's. Where
// nothing is shown, there is no thread. Failure: none. Bounds: one line; names of phases are short texts of ours.
// Lifetime: the stream outlives it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

namespace digd::cli {

class progress {
 public:
  struct timing {
    std::chrono::milliseconds after{1000};  // of silence, from the construction on
    std::chrono::milliseconds every{100};
  };
  struct phase {
    std::string name;
    std::uint64_t total = 0;                      // 0: unknown
    std::string unit = {};                        // "bytes" are shown as kB or MB; empty: a percentage
    std::function<std::uint64_t()> measure = {};  // what is done, for work that cannot call `add`; may be empty
  };

  explicit progress(bool is_quiet = false);
  // Draws on `to`, whether that is a terminal or not.
  progress(std::ostream& to, const timing& when);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  // The time left is estimated from the time since `begin`.
  void begin(phase next);
  void add(std::uint64_t n = 1) { done_.fetch_add(n, std::memory_order_relaxed); }
  void set(std::uint64_t done, std::uint64_t total);
  // Clears the line and keeps it cleared while the lock is held.
  [[nodiscard]] std::unique_lock<std::mutex> pause();
  // The same for standard output; an empty lock if that is not a terminal, so that a slow reader does not stop the
  // line.
  [[nodiscard]] std::unique_lock<std::mutex> pause_for_output();

 private:
  using clock = std::chrono::steady_clock;

  void start();
  void draw_until_stopped();
  void clear();

  std::ostream error_;      // standard error; unlike std::cerr, it never waits for standard output
  std::ostream* const to_;  // null: shows nothing
  const timing when_;
  std::atomic<std::uint64_t> done_{0}, total_{0};
  std::mutex mutex_;  // of what follows, and of the terminal
  std::condition_variable stopped_;
  phase phase_;
  clock::time_point begun_;
  bool is_drawn_ = false, stops_ = false;
  std::thread drawer_;
};

// Shows `phase` while `work` runs, and returns its result. `work` writes nothing to the terminal.
template <class Work>
auto show_while(progress::phase phase, const Work& work, bool is_quiet = false) {
  progress shown(is_quiet);
  shown.begin(std::move(phase));
  return work();
}

// The line for a phase that has taken `seconds`: "reading: 34 % of 12.3 MB, 7 s left".
std::string progress_line(const progress::phase& now, std::uint64_t done, double seconds);

}  // namespace digd::cli
