// "Who caused this?": ranks the suspects of a stored run with `digctl attribute chief`, in a process of its own.
//
// digd links no attribution method. A thread reads the run from the archive, passes it to a process with few rights
// (limited_child.h) and keeps the answer. Only one such process exists at a time.
//
// Threads: any; the run is read on a thread of the worker. Lifetime: stopped before the archive closes. Bounds: one
// process with `max_memory_bytes` and `max_time`; the answers of `max_answers` runs are kept, the oldest is dropped
// first. Failure: the state `failed`, with a sentence.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "daemon/attribution/limited_child.h"

namespace digd::daemon {

struct attribution_state {
  enum class stage : std::uint8_t { reading, ranking, done, failed };
  std::uint64_t run_number = 0;
  stage now = stage::reading;
  std::uint64_t read_messages = 0, messages = 0;  // read so far; in the run when the attribution began
  std::chrono::steady_clock::time_point begun, ended;
  std::string answer;   // of `done`: the JSON of digctl
  std::string problem;  // of `failed`
};

struct attribution_counts {
  std::atomic<std::uint64_t> started{0}, failed{0}, refused{0};
};

class attribution_worker {
 public:
  static constexpr std::uint64_t max_memory_bytes = 1u << 30;
  static constexpr std::chrono::seconds max_time{120};
  static constexpr std::size_t max_answers = 32;

  // `program`: the path of digctl.
  attribution_worker(std::string archive_path, std::string program)
      : archive_path_(std::move(archive_path)), program_(std::move(program)) {}
  ~attribution_worker() { stop(); }

  // False: an attribution runs already, or digd stops. `messages`: of the run, for progress.
  bool start(std::uint64_t run_number, std::uint64_t messages);
  std::optional<attribution_state> state(std::uint64_t run_number) const;  // none: nobody asked for the run
  void forget(std::uint64_t run_number);  // the run was deleted: ends its attribution and drops its answer
  void stop();
  const attribution_counts& counted() const { return counts_; }

 private:
  void work(std::uint64_t run_number);
  std::string rank(std::uint64_t run_number, std::string& answer);
  attribution_state* find(std::uint64_t run_number);

  const std::string archive_path_, program_;
  mutable std::mutex mutex_;
  std::deque<attribution_state> states_;  // oldest first
  std::uint64_t running_ = 0;             // the number of the run whose attribution is running; 0: none
  bool stopped_ = false;
  std::atomic<bool> stopping_{false};  // the process must end
  attribution_counts counts_;
  std::thread thread_;
};

// The path of digctl: beside the running digd.
std::string digctl_beside_digd();

}  // namespace digd::daemon
