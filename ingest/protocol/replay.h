// A trace through the engine, without a socket or a clock: what a daemon would have answered to it.
//
// Feeds an inbox line by line and hands on what comes out; keeps nothing of the past, so that a trace of any
// length replays in the memory of its frontier.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ingest/protocol/inbox.h"

namespace digd::ingest {

class replay {
 public:
  struct listener {
    // A frame that a client would be sent. With several sessions it begins with the session it goes to.
    std::function<void(std::string_view frame)> frame;
    // Everything that came of one line, before its frames.
    std::function<void(const taken& record)> took;
  };
  struct counts {
    std::uint64_t lines = 0, messages = 0, refused = 0, repeated = 0, detections = 0, healed = 0;
    std::uint64_t broken = 0;  // of those refused: lines that are no JSON
  };

  replay(const run_policy& policy, listener to);
  ~replay();

  // Takes one line of a trace. False, with `problem` set, if the trace cannot go on: no hello first, a hello that
  // is refused, a session that never said hello.
  bool line(std::string_view text);
  const std::string& problem() const { return problem_; }

  const digd::run* run() const;  // null before the first hello
  const counts& counted() const { return counts_; }
  // The version of the semantics that the trace's run began with; the current one if the trace is not an archived run.
  std::uint64_t semantics() const { return semantics_; }

 private:
  class relay;
  bool greet(std::string_view text);
  bool is_hello(std::string_view text);
  std::optional<session_index> speaker_of(std::string_view text);
  bool fail(std::string text);

  run_policy policy_;
  counts counts_;
  std::unique_ptr<relay> relay_;
  std::unique_ptr<inbox> inbox_;
  decoder decoder_;
  message scratch_;
  std::string problem_;
  std::uint64_t semantics_ = semantics_version;
  bool is_stand_in_ = false;  // the line in hand stands for a refused frame
};

// Replays a whole file. `problem` tells what is wrong with it: empty if nothing.
struct replayed {
  std::string problem;
  replay::counts counted;
};
replayed replay_file(const std::string& path, replay& through);

}  // namespace digd::ingest
