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
//   no_new_runs     digd refuses a run that is not open yet, with over_limit
//   shrink_credits  digd stops reading a session whose messages that are not yet durable exceed 1/16 of its credits
//   observe         at each check, digd selects the token that holds most memory, among those of which it can free
//                   some. It closes the token's heaviest connections, or stops judging its heaviest runs and frees
//                   their graphs. The events of such a run are archived, and delivered unchanged. After the action
//                   has ended, each engine thread resumes one of its runs at each check
//   refuse          digd refuses all messages except run_ended, with over_limit
//
// digd charges each token for its connections, and for the runs that it opened: for their memory, or for their bytes in
// the archive. All connections without a token count as one token. A token is heavy if its charge is at least half of
// the largest one. no_new_runs, shrink_credits and refuse begin with the heavy tokens. The first two extend to all
// tokens at the share at which the next action begins, and `refuse` extends to all at the limit itself.
//
// This class also enforces `max_bytes` of tokens, with or without an overload. A token is full while the runs that it
// opened have more bytes in the archive than its `max_bytes`. digd then refuses the token's new runs, and all messages
// of its runs except run_ended, with over_limit. If the archive cannot be read, full tokens stay full, and no others
// become full.
//
// Threads: `check` runs on a thread of its own; any may call `check_soon`. Lifetime: stopped before the engine threads
// end.
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

// The actions that a resource requests at its present use. Not thread-safe.
class overload_steps {
 public:
  static constexpr std::uint64_t hysteresis = 5;  // percentage points

  // `limit` 0: there is no limit, and the resource requests nothing.
  void update(std::uint64_t used, std::uint64_t limit, const overload_settings& settings);
  bool requests(overload_action action) const { return on_[static_cast<std::size_t>(action)]; }

 private:
  std::array<bool, overload_action_count> on_{};
};

// The shares at which the actions extend from heavy tokens to all tokens: that of the next action which is not off, and
// 100 % for `refuse`.
overload_settings settings_for_all(const overload_settings& settings);

// Stored bytes of the runs that each token opened.
using archive_weights = std::map<std::string, std::uint64_t>;
// The tokens that have more bytes than their limits.
std::set<std::string> tokens_over(const byte_limits& limits, const archive_weights& weights);

class overload {
 public:
  static constexpr std::chrono::milliseconds check_interval{500};
  // To weigh the tokens in the archive, digd reads the row of every run. It waits this long between two weighings, or
  // `weighing_pause` times as long as the last one took, if that is longer.
  static constexpr std::chrono::seconds weighing_interval{5};
  static constexpr int weighing_pause = 20;
  // If connections.memory_bytes is not set, the input of all connections may take 1/`connection_share` of the memory
  // limit, or `min_connection_bytes` if that is more.
  static constexpr std::uint64_t connection_share = 4, min_connection_bytes = 64 << 20;

  // `archive_path`: empty if digd archives nothing.
  overload(const live_settings& settings, std::string archive_path, const engine_threads& threads,
           const authorizer& tokens, overload_state& state, memory_budget& budget);
  ~overload();

  // Measures, and begins or ends actions. Call it only before `start`: afterwards the thread calls it.
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
  std::atomic<std::uint64_t> to_free_{0};  // the bytes of memory above the share at which `observe` ends
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false, has_work_ = false;
  std::function<void()> after_check_;
  std::thread thread_;
};

std::uint64_t resident_bytes();
// The memory of malloc. `free`: freed memory that malloc keeps for later; resident memory may include it.
struct heap_use {
  std::uint64_t allocated = 0, free = 0;
};
heap_use heap_in_use();
// The memory that this process may use: the lowest memory.max or memory.high of its cgroups, else the machine's memory.
// `root`: prefix of /proc and /sys, for tests.
std::uint64_t memory_limit(const std::string& root = "");

}  // namespace digd::daemon
