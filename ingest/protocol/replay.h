// A trace through the engine, without a socket or a clock: the answers that a daemon would have given.
//
// It feeds an inbox line by line and hands on the effects. It keeps nothing of the past, so a trace of any length
// replays in the memory of the live part of its graph. Thread: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/protocol/inbox.h"

namespace digd::ingest {

class replay {
 public:
  struct listener {
    // A frame that a daemon would send to a client. If the trace has several sessions, its first member is the session.
    std::function<void(std::string_view frame)> frame;
    // An item of the record, before the frames that it causes. A line that hits a limit makes two items; both come
    // after the whole line has been applied.
    std::function<void(const ingest::record& item)> record;
    // A client's message that was refused, with its line in the trace. Not a line that records an earlier refusal.
    std::function<void(std::uint64_t line, const ingest::record& item)> refused;
  };
  struct counts {
    std::uint64_t lines = 0, messages = 0, refused = 0, repeated = 0, detections = 0, healed = 0;
    std::uint64_t rejected = 0;  // refused messages; `refused` also counts lines that record an earlier refusal
  };

  replay(const run_policy& policy, listener to);

  // Takes one line of a trace. False, with `problem` set, if the trace cannot continue: no hello first, a hello that is
  // refused, a session that never sent a hello.
  bool line(std::string_view text);
  const std::string& problem() const { return problem_; }

  const digd::run* run() const;  // null before the first hello
  const counts& counted() const { return counts_; }
  // The version of the semantics that the trace's run began with; the current one if the trace is not an archived run.
  std::uint64_t semantics() const { return semantics_; }

 private:
  bool greet(std::string_view text);
  bool follow(std::string_view text);
  std::optional<session_index> find_session(std::string_view name) const;
  void hand_on(const effects& of, line_type type);
  void count(const record& item, line_type type);
  void hand_on_frame(session_index to, std::string_view frame);
  bool fail(std::string text);

  run_policy policy_;
  listener to_;
  counts counts_;
  std::unique_ptr<inbox> inbox_;
  decoder decoder_;
  std::string frame_;  // with its session
  std::string problem_;
  std::uint64_t semantics_ = semantics_version;
};

// Replays a whole file; `-` is the standard input. `problem` is empty if all of it was replayed.
struct replayed {
  std::string problem;
  replay::counts counted;
};
replayed replay_file(const std::string& path, replay& through);

}  // namespace digd::ingest
