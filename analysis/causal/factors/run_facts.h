// The facts of one recorded run from which factors are computed. Plain data; times in milliseconds of the run's clock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/message.h"
#include "model/rule_id.h"

namespace digd::causal {

inline constexpr std::size_t no_index = static_cast<std::size_t>(-1);

struct run_facts {
  struct activation_fact {
    std::size_t agent = 0;
    milliseconds started_ms = 0;
    std::optional<milliseconds> ended_ms;  // none: still open at the end of the run or of the window
    bool failed = false;
    std::vector<std::size_t> inputs;  // indices of events
    std::vector<reaction> reactions;  // by input; `none` while open or failed
    std::size_t outputs = 0;
  };
  struct event_fact {
    std::size_t source = no_index;  // index of an activation
    milliseconds at_ms = 0;
    std::vector<std::size_t> recipients;  // indices of agents
    bool work = true;                     // not a submit, not fyi, not a system event
    std::size_t depth = 0;                // longest chain of derivations from a root event
    std::optional<milliseconds> consumed_ms;
    std::vector<std::size_t> consumers;  // indices of agents, each once
  };

  std::string run;
  std::map<std::string, std::string> labels;  // from hello; the first session's value counts
  std::map<std::string, double> metrics;      // from run_ended
  run_outcome outcome = run_outcome::none;
  bool ended = false;

  std::vector<std::string> agents;           // in order of their first mention, the roster first
  std::vector<activation_fact> activations;  // in order of their start
  std::vector<event_fact> events;            // in order of their announcement
  std::vector<std::size_t> pending;          // pending deliveries after each message
  std::uint64_t messages = 0, refused = 0, gaps = 0;
  std::uint64_t fired[rule_count] = {};
  std::uint64_t failures = 0;  // detections of severity failure
  std::uint64_t injections = 0, interventions = 0, reroute_verdicts = 0;
  std::uint64_t cleared = 0, recurred = 0, unresolved = 0;
  std::uint64_t tokens = 0, cost = 0, model_calls = 0, tool_calls = 0;  // as clients report them; cost in millionths
  std::uint64_t holds = 0, decisions = 0;                               // events that waited; decisions of people
  milliseconds first_ms = 0, last_ms = 0;

  std::shared_ptr<const run_facts> whole;  // the whole run, if this is a window of it; null otherwise

  const run_facts& in_full() const { return whole ? *whole : *this; }
};

// The beginning of each run from which factors are computed, so that long and short runs are comparable. 0: no limit.
struct run_window {
  milliseconds first_ms = 0;
  std::uint64_t first_messages = 0;
};

}  // namespace digd::causal
