// digd's engine inside your program: one run, without a daemon, a socket, a file, a thread or a clock.
//
//   digd::opened_run opened = digd::embedded_run::open(R"({"type":"hello","protocol":1,"run":"r1"})");
//   const digd::engine_answer& answer = opened.run->apply(frame, now_ms);
//   for (const std::string& frame : answer.frames) …
//
// Frames are those of the ingest protocol, one JSON object each (docs/protocol.md). The answers are the same bytes that
// a daemon with the default configuration sends. Only `ack` frames are missing, because nothing is archived.
//
// Purpose: programs that judge messages in process, and tools that feed recorded or simulated runs to the engine.
// Ownership: the caller owns the run. A run keeps no pointer to what the caller passes in.
// Thread: a run is not thread-safe. Different runs share nothing and may live on different threads.
// Time: the caller passes it in, as Unix milliseconds. It need not come from a real clock.
// Bounds: the limits of `hello` and their policies (docs/limits.md). Memory follows the work in flight. A frame above
//   `limits.message_bytes` is refused unread.
// Errors: no call throws, except std::bad_alloc. A bad frame is answered with an `error` frame and changes nothing.
// Stability: while the version is 0.x, this header stays source compatible between patch releases. The other installed
//   headers ("engine/run.h", …) may change with every release.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace digd {

struct opened_run;

// The effects of one call.
struct engine_answer {
  // For the client, in order: `intervention`, `verdicts` and `error` frames. Messages without events need no answer.
  std::vector<std::string> frames;
  // Every detection, healed or not, as a JSON object with its witness. `frames` repeat some of them: those that a
  // verdict or an intervention is about.
  std::vector<std::string> detections;
};

class embedded_run {
 public:
  // Opens a run with its `hello`, which has all settings. With `"clock":"trace"` the times in the frames count.
  static opened_run open(std::string_view hello);

  embedded_run(embedded_run&&) noexcept;
  embedded_run& operator=(embedded_run&&) noexcept;
  ~embedded_run();

  // Applies one client frame that arrives at `now_ms`. Frames are numbered: `seq` is 1, 2, 3, …
  // The answer is valid until the next call.
  const engine_answer& apply(std::string_view frame, std::int64_t now_ms);

  // Time passes without a frame: rules that judge by time fire. No effect with the trace clock, where a `time` frame
  // does it. The answer is valid until the next call.
  const engine_answer& advance(std::int64_t now_ms);

  // The time at which `advance` must next be called; none if nothing is due, or with the trace clock.
  std::optional<std::int64_t> next_due() const;

  // Whether the run has taken its `run_ended`. After it, every frame is refused with `run_closed`.
  bool ended() const;

 private:
  struct state;
  explicit embedded_run(std::unique_ptr<state> state);
  std::unique_ptr<state> state_;
};

struct opened_run {
  std::optional<embedded_run> run;  // none if the hello was refused
  std::string frame;                // `welcome` with the effective settings; otherwise the `error`
};

}  // namespace digd
