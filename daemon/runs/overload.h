// The overload manager: watches what can run out, and takes load off in steps before it does.
//
//   resource   used                                   against
//   memory     resident bytes of this process         overload.memory_bytes; else the cgroup's limit; else the
//   machine's archive    bytes of the archive file and its log  overload.archive_bytes; 0: it is not watched
//
// Each action begins at its own share of a resource's limit, in percent, and ends when the share is `hysteresis` points
// below, so that it does not flicker. `observe` and `shrink_credits` would free no disk, so the archive brings about
// the other two alone. What an action does:
//
//   no_new_runs     a run that is not open yet is refused with over_limit
//   shrink_credits  sessions are read on only while they are a sixteenth of their credits ahead of what is durable
//   observe         on each engine thread, each time it is looked: the run with the largest graph is judged no more,
//   and
//                   its graph freed; its events are delivered as they are, and kept
//   refuse          messages are refused with over_limit, run_ended excepted
//
// Threads: one of its own looks; `is_on`, `state`, `look_again` any. Lifetime: stopped before the engine threads end.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "daemon/settings/config.h"

namespace digd::daemon {

struct shared_state;

enum class overload_action : std::uint8_t { no_new_runs, shrink_credits, observe, refuse };
inline constexpr std::size_t overload_action_count = 4;
std::string_view to_string(overload_action);

enum class overload_resource : std::uint8_t { memory, archive };
inline constexpr std::size_t overload_resource_count = 2;
std::string_view to_string(overload_resource);

// What one resource asks for at a share of its limit. Not thread-safe.
class overload_steps {
 public:
  static constexpr std::uint64_t hysteresis = 5;  // points of a hundred

  // `limit` 0: there is none, and nothing is asked for.
  void update(std::uint64_t used, std::uint64_t limit, const overload_settings& settings);
  bool asks_for(overload_action action) const { return on_[static_cast<std::size_t>(action)]; }

 private:
  std::array<bool, overload_action_count> on_{};
};

class overload {
 public:
  static constexpr std::chrono::milliseconds look_every{500};
  static constexpr std::uint64_t credit_share = 16;

  struct gauge {
    std::atomic<std::uint64_t> used{0}, limit{0};
  };
  struct counters {
    std::array<gauge, overload_resource_count> resources;
    std::array<std::atomic<std::uint64_t>, overload_action_count> begun{};  // times
  };

  explicit overload(shared_state& shared) : shared_(shared) {}
  ~overload() { stop(); }

  void look();  // once, now: before the first connection; later its own thread does
  void start();
  void stop();
  void look_again();  // the settings changed
  bool is_on(overload_action action) const {
    return on_[static_cast<std::size_t>(action)].load(std::memory_order_relaxed);
  }
  // Which resource an action is on for; none: it is not on.
  std::optional<overload_resource> cause_of(overload_action action) const;
  const counters& counted() const { return counted_; }

 private:
  void work();
  void set(overload_action action, bool on);
  void unburden();

  shared_state& shared_;
  std::array<overload_steps, overload_resource_count> steps_;
  std::array<std::atomic<bool>, overload_action_count> on_{};
  std::array<std::atomic<std::uint8_t>, overload_action_count> causes_{};
  counters counted_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false, woken_ = false;
  std::thread thread_;
};

std::uint64_t resident_bytes();
// What this process may have: the least memory.max or memory.high of its cgroups, or the machine's memory. `root`: of
// the file system.
std::uint64_t memory_of_machine(const std::string& root = "");

}  // namespace digd::daemon
