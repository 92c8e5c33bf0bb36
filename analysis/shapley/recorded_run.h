// A trace decoded once, to be replayed many times with some of its activations left out. Internal to analysis/shapley.
//
// Owns its names: messages hold views of `names_`, which never move. Constant after `load`; shared by threads.
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
  std::uint32_t event = 0;   // index of the name
  bool unannounced = false;  // in the trace nobody had announced it by then
  bool system = false;       // the monitor's own
};

// One thing that was applied to the run.
struct recorded_step {
  enum class what : std::uint8_t { hello, message, passing_time, operator_mode } kind = what::message;
  std::uint32_t session = 0;
  std::uint32_t hello = 0;
  mode strongest = mode::enforce;  // of the operator's switch
  milliseconds ts = 0;
  digd::message message;
  std::uint32_t activation = 0xFFFFFFFF;  // of a start, an end, an event with a source
  std::vector<recorded_input> inputs;     // of a start and of its end
  std::vector<std::uint32_t> outputs;     // the events announced
};

struct recorded_activation {
  std::string id;
  std::uint32_t agent = 0;
  milliseconds started = 0;
  std::size_t inputs = 0, outputs = 0;
  bool ended = false, failed = false, submits = false, reroutes = false, discards = false, consumes = false;

  // Kept or not, the replay is the same.
  bool does_nothing() const { return outputs == 0 && (!ended || (!failed && !reroutes && !discards && !consumes)); }
};

class recorded_run {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  // Empty, or what is wrong with the trace.
  std::string load(std::string_view trace);

  std::string run;
  run_settings settings;
  std::vector<hello> hellos;
  std::vector<std::string> sessions;
  std::vector<std::string> agents;
  std::vector<recorded_step> steps;
  std::vector<recorded_activation> activations;  // in the order of their starts
  std::vector<std::string_view> events;          // every event id named, the monitor's too
  milliseconds last_ts = 0;
  std::size_t detections = 0;  // of the full replay
  std::string text_digest;

 private:
  struct loader;
  std::deque<std::string> names_;
};

}  // namespace digd::shapley
