// The overload manager: measures the resources that can run out, and reduces load step by step before they do.
//
//   resource  measured                             limit
//   memory    resident bytes of this process       overload.memory_bytes, else the cgroup's, else the machine's
//   archive   bytes of the archive file and its    overload.archive_bytes; 0: not measured
//             write-ahead log
//
// Each action begins at its own share of a resource's limit, in percent. It ends when the share is `hysteresis` points
// lower, so that it does not flicker. `observe` and `shrink_credits` free no disk space, so the archive causes only the
// other two. The actions:
//
//   no_new_runs     a run that is not open yet is refused with over_limit
//   shrink_credits  a session is read only while it is at most 1/16 of its credits ahead of what is durable
//   observe         at each check, digd finds the token that holds most memory and can free some. It closes the
//                   heaviest connections of this token, or stops judging its heaviest runs and frees their graphs; the
//                   events of such a run are delivered as is, and archived.
//                   Once the action has ended, each engine thread resumes one such run at each check
//   refuse          messages are refused with over_limit, except run_ended
//
// A token holds the memory of its connections and the graphs of the runs that it opened, and in the archive these runs.
// Connections without a token count together as one token. no_new_runs, shrink_credits and refuse first apply to heavy
// tokens alone: those that hold at least half as much of the resource as the heaviest one. They apply to all tokens
// when the next action begins, and `refuse` at the limit itself.
//
// It also enforces `max_bytes` of tokens, with or without an overload. A token is full while the runs that it opened
// have more bytes in the archive. digd then refuses new runs of the token, and messages in its runs, with over_limit,
// except run_ended. If the archive cannot be read, full tokens stay full, and no others become full.
//
// Threads: a thread of its own checks; `check_soon` any. Lifetime: stopped before the engine threads end.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "daemon/access/tokens.h"
#include "daemon/runs/overload_state.h"
#include "daemon/runs/token_weights.h"
#include "daemon/settings/config.h"
#include "daemon/settings/live_settings.h"

namespace digd::archive {
class reader;
}

namespace digd::daemon {

class authorizer;
class engine_threads;
class memory_budget;

// The actions that one resource requests at a share of its limit. Not thread-safe.
class overload_steps {
 public:
  static constexpr std::uint64_t hysteresis = 5;  // percentage points

  // `limit` 0: there is no limit, and the resource requests nothing.
  void update(std::uint64_t used, std::uint64_t limit, const overload_settings& settings);
  bool requests(overload_action action) const { return on_[static_cast<std::size_t>(action)]; }

 private:
  std::array<bool, overload_action_count> on_{};
};

// When each action begins for all: with the next one.
overload_settings settings_for_all(const overload_settings& settings);

// Stored bytes of the runs that each token opened.
using archive_weights = std::map<std::string, std::uint64_t>;
// The tokens that have more bytes than their limits.
std::set<std::string> tokens_over(const byte_limits& limits, const archive_weights& weights);

class overload {
 public:
  static constexpr std::chrono::milliseconds check_interval{500};
  // Between two weighings of the tokens in the archive, which reads the row of every run: this interval, or
  // `weighing_pause` times the duration of the last weighing if that is longer.
  static constexpr std::chrono::seconds weighing_interval{5};
  static constexpr int weighing_pause = 20;
  // For the input that connections hold, unless connections.memory_bytes is set: this part of the memory limit, and not
  // less than this.
  static constexpr std::uint64_t connection_share = 4, min_connection_bytes = 64 << 20;

  // `archive_path`: empty where nothing is archived.
  overload(const live_settings& settings, std::string archive_path, const engine_threads& threads,
           const authorizer& tokens, overload_state& state, memory_budget& budget);
  ~overload();

  // Measures once. Only before `start`: afterwards the thread does it.
  void check();
  // Calls `after_check` on its own thread after each check.
  void start(std::function<void()> after_check);
  void stop();
  // The settings changed.
  void check_soon();

 private:
  // The bytes used of each resource, and its limit (0: none).
  struct readings {
    std::array<std::uint64_t, overload_resource_count> used, limits;
  };

  void work();
  readings measure(const config& settings);
  void update_steps(const readings& measured, const overload_settings& settings);
  void limit_connections(const readings& measured, const config& settings);
  bool is_short(overload_resource resource) const;
  void weigh_archive();
  void apply(overload_action action);
  void set(overload_action action, bool on);
  void weigh_tokens();
  void weigh_tokens_in_archive();
  void limit_bytes_of_tokens(const byte_limits& limits);
  void set_heavy(overload_resource resource, const std::map<std::string, std::uint64_t>& bytes);
  void decide(const token_weights& weights);
  void shed(const std::string& token, const token_weight& weight);
  void resume_runs();

  const live_settings& settings_;
  const std::string archive_path_;
  const engine_threads& threads_;
  const authorizer& tokens_;
  overload_state& state_;
  memory_budget& budget_;
  std::array<overload_steps, overload_resource_count> steps_, steps_for_all_;
  std::unique_ptr<archive::reader> archive_reads_;
  std::optional<archive_weights> archive_weights_;  // none: not needed, or the archive cannot be read
  std::chrono::steady_clock::time_point weighs_archive_at_{};
  std::atomic<std::uint64_t> to_free_{0};  // bytes, so that `observe` ends
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false, has_work_ = false;
  std::function<void()> after_check_;
  std::thread thread_;
};

std::uint64_t resident_bytes();
// Of malloc. `free` is what it keeps for later, which resident memory may count.
struct heap_use {
  std::uint64_t allocated = 0, free = 0;
};
heap_use heap_in_use();
// The memory that this process may use: the lowest memory.max or memory.high of its cgroups, else the machine's memory.
// `root`: prefix of /proc and /sys, for tests.
std::uint64_t memory_limit(const std::string& root = "");

}  // namespace digd::daemon
