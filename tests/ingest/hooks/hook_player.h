// Plays hook calls of a coding agent to an engine, as the daemon does (daemon/hooks/hook_session.h), without sockets
// and without a clock: each call is a second after the one before.
//
// Thread: one at a time. Bounds: none; it keeps the traces of all runs. Failure: see `played`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/hooks/dialect.h"
#include "ingest/hooks/session.h"
#include "ingest/protocol/replay.h"

namespace digd::tests {

class hook_player {
 public:
  explicit hook_player(const hooks::dialect& as, std::string mode = "enforce", run_policy policy = {});
  hook_player(const hook_player&) = delete;  // the replays hold pointers to this object
  hook_player& operator=(const hook_player&) = delete;

  struct played {
    bool is_refused = false;  // the daemon answers with 400
    hooks::bad_call problem;
    hooks::call call;
    std::string answer;  // of the hook; "{}": the agent goes on as without digd
  };
  played play(std::string_view body);

  const std::string& run() const { return session_->run(); }
  const std::vector<std::string>& lines() const { return lines_; }  // of all runs, in order
  const std::vector<std::string>& refused() const { return refused_; }
  const std::vector<detection>& detections() const { return detections_; }

 private:
  void open_run(const hooks::call& first);
  void send_lines();
  void on_frame(std::string_view frame);

  const hooks::dialect& dialect_;
  const std::string mode_;
  const run_policy policy_;
  std::unique_ptr<hooks::session> session_;
  std::unique_ptr<ingest::replay> engine_;
  std::int64_t now_ms_ = 0;
  std::uint64_t judged_seq_ = 0;
  hooks::reply reply_;
  std::vector<std::string> frames_, lines_, refused_;
  std::vector<detection> detections_;
};

}  // namespace digd::tests
