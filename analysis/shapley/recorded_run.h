// A trace, decoded once and replayed many times with some of its activations left out. Internal to analysis/shapley.
//
// Owns all names: messages hold views of `names_`, whose elements never move. Constant after `load`, so threads may
// share it. Move, do not copy: the views of a copy would refer to the original.
// Bounds: none of its own; it grows with the trace. Failure: an error sentence from `load`.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "model/message.h"
#include "model/settings.h"

namespace digd::shapley {

struct recorded_input {
  std::string_view id;
  std::uint32_t event = 0;   // index into `events`
  bool unannounced = false;  // named in the trace before any announcement (a placeholder)
  bool system = false;       // a system event
};

// One step of the replay: a hello, a message, the passing of time, or a switch of mode by the operator.
struct recorded_step {
  enum class step_kind : std::uint8_t { hello, message, passing_time, operator_mode } kind = step_kind::message;
  std::uint32_t session = 0;
  std::uint32_t hello = 0;
  mode strongest = mode::enforce;  // of an operator's switch
  milliseconds ts = 0;
  digd::message message;
  std::uint32_t activation = 0xFFFFFFFF;  // of a start, an end, or an event with a source; else `none`
  std::vector<recorded_input> inputs;     // of a start and of the corresponding end
  std::vector<std::uint32_t> outputs;     // indices of announced events
};

struct recorded_activation {
  std::string id;
  std::uint32_t agent = 0;
  milliseconds started = 0;
  std::size_t inputs = 0, outputs = 0;
  bool ended = false, failed = false, submits = false, reroutes = false, discards = false, consumes = false;
};

class recorded_run {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  // Empty, or the error in the trace.
  std::string load(std::string_view trace);

  std::string run;
  run_settings settings;
  std::vector<hello> hellos;
  std::vector<std::string> sessions;
  std::vector<std::string> agents;
  std::vector<recorded_step> steps;
  std::vector<recorded_activation> activations;  // in the order of their starts
  std::vector<std::string_view> events;          // every event id named, including system events
  milliseconds last_ts = 0;
  std::size_t detections = 0;  // in the full replay
  std::string text_digest;

 private:
  struct loader;
  std::deque<std::string> names_;
};

}  // namespace digd::shapley
