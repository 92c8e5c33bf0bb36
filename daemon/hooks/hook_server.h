// Serves POST /v1/hooks/…: the sessions of coding agents. Each belongs to the engine thread that the hash of its id
// selects. docs/coding-agents.md lists the promises to an agent.
//
// It ends runs for which no call comes. A run may have lost its session to make room for another one, or in a restart
// of digd. `connections.quiet_ms` and the dialect say after how long the runs end.
//
// Threads: `submit`, `stop` and `counted` any. Lifetime: outlives the connections, and is outlived by the engine
// threads, which do not end before `stop`. Bounds: `max_sessions` a thread; beyond that the session that was silent
// longest makes room. Failure: an answer to the hook that lets the agent continue.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/hooks/hook_session.h"
#include "daemon/hooks/transcript_thread.h"
#include "daemon/settings/live_settings.h"

namespace digd::daemon {

class hook_server {
 public:
  static constexpr std::size_t max_sessions = 1'000;
  static constexpr std::size_t max_body_bytes = 4u << 20;

  // `transcript_roots`: folders whose transcripts may be read.
  hook_server(const engine_threads& threads, const live_settings& live, std::vector<std::string> transcript_roots);

  // Calls the request's `answer` once, on any thread.
  void submit(hook_request&& request);
  // Ends the timers of idle runs.
  void stop();
  const hook_counts& counted() const { return counts_; }
  hook_counts& counted() { return counts_; }

 private:
  using time_point = std::chrono::steady_clock::time_point;
  // Used on its engine thread only.
  struct table {
    explicit table(engine_thread& on);
    engine_thread& home;
    std::unordered_map<std::string, std::shared_ptr<hook_session>> sessions;
    // By the numbers of hooks' open runs without a session: when `end_abandoned` first found them so.
    std::unordered_map<std::uint64_t, time_point> abandoned;
    net::steady_timer timer;
    bool is_stopped = false;
  };
  void take(table& here, hook_request&& request);
  void make_room(table& in);
  void erase_ended(table& in, const std::string& key);
  void start_timer(table& in);
  void end_idle(table& in);
  void end_abandoned(table& in, time_point now);
  std::optional<std::chrono::milliseconds> max_quiet_of(const hooks::dialect& as) const;

  const engine_threads& threads_;
  const live_settings& live_;
  hook_counts counts_;
  std::deque<table> tables_;  // one an engine thread
  transcript_thread transcripts_;
};

}  // namespace digd::daemon
