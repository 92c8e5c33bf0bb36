// The turns of a run as activations and events on one line of time: an agent that calls others acts in several
// activations, one up to each call and one from its answer on, because an activation's inputs are there when it starts.
//
// Effects come after their causes, whatever the clocks of the machines that wrote the spans said.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ingest/otlp/turns.h"

namespace digd::otlp {

struct act_event {
  std::string id;
  std::size_t from = none;              // turn
  const span* by = nullptr;             // whose texts it carries; null for the first event of a run
  bool carries_input = false;           // its text is what `by` was given, not what it made
  std::vector<std::string> recipients;  // agents, as their spans name them
  bool recipients_stated = false;
  bool submit = false, fyi = false;  // both inferred
  std::int64_t at_ns = 0;
};

struct act_input {
  std::string event;
  bool stated = false;
};

struct act {
  std::string id;
  std::size_t turn = none;
  bool made_up = false;  // a later part of a turn
  bool ends = true;      // false: its end is kept back
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
};

// `is_over`: nothing more will come; else acts whose outputs nobody is known to have read do not end.
timeline lay_out(const run_of_turns& run, bool is_over);

}  // namespace digd::otlp
