// Orders the turns of a run as activations and events by time. An agent that calls others acts in several activations,
// because an activation has all its inputs when it starts: one ends with each round of calls, and the next begins with
// the answers.
//
// Effects come after their causes, whatever the clocks of the machines that wrote the spans show.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ingest/otlp/run_of_turns.h"

namespace digd::otlp {

struct act_event {
  std::string id;
  std::size_t from = none;              // turn; none: from outside
  const span* by = nullptr;             // whose texts it carries; null for the first event of a run
  bool carries_input = false;           // its text is the input of `by`, not its output
  bool carries_error = false;           // its text is the error of `by`
  bool from_start = false;              // an output of the run's beginning
  std::vector<std::string> recipients;  // agents, as their spans name them
  bool recipients_stated = false;
  bool submit = false, fyi = false;  // both inferred
  std::int64_t at_ns = 0;
  std::int64_t read_ns =
      std::numeric_limits<std::int64_t>::max();  // when its reader begins, if that may be before `at_ns`
};

struct act_input {
  std::string event;
  bool stated = false;
};

struct act {
  std::string id;
  std::size_t turn = none;  // `none`: the beginning of the run (`start_agent`)
  bool inferred = false;    // a later part of a turn
  bool ends = true;         // false: its end is withheld
  bool failed = false;
  std::int64_t start_ns = 0, end_ns = 0;
  bool start_moved = false, end_moved = false;
  std::vector<act_input> inputs;
  std::vector<act_event> outputs;  // at its end, or before
};

struct timeline {
  std::vector<act_event> roots;
  std::vector<act> acts;
  std::size_t moved = 0;  // acts that began later than their span says
  bool answered = false;  // one of the outputs is the run's answer
};

// The agent of the activation that passes the run's input to the first turns, if there are several. Their outputs then
// share this origin, so an agent that reads two of them does not combine different lineages.
inline constexpr const char* start_agent = "START";

// `is_over`: no more spans will come. Otherwise acts without a known reader of their outputs do not end yet.
timeline lay_out(const run_of_turns& run, bool is_over);

}  // namespace digd::otlp
