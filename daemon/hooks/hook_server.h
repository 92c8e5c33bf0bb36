// Serves POST /v1/hooks/…: the sessions of coding agents. Each belongs to the engine thread that the hash of its id
// selects. docs/coding-agents.md lists the promises to an agent.
//
// Threads: `submit` and `counted` any. Lifetime: outlives the connections, and is outlived by the engine threads.
// Bounds: `max_sessions` a thread; beyond that the one that was silent longest makes room. Failure: an answer to the
// hook that lets the agent continue.
#pragma once

#include <memory>
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

  // Calls `answer` once, on any thread.
  void submit(const hooks::dialect& as, mode mode, hooks::call&& call, response_callback answer);
  const hook_counts& counted() const { return counts_; }
  hook_counts& counted() { return counts_; }

 private:
  // Used on its engine thread only.
  struct table {
    std::unordered_map<std::string, std::shared_ptr<hook_session>> sessions;
  };
  void take(engine_thread& home, const hooks::dialect& as, mode mode, hooks::call&& call, response_callback answer);
  void make_room(table& in);

  const engine_threads& threads_;
  const live_settings& live_;
  hook_counts counts_;
  std::vector<table> tables_;  // one an engine thread
  transcript_thread transcripts_;
};

}  // namespace digd::daemon
