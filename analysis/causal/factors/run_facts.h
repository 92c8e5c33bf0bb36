// What one recorded run did, as series that factors are computed from. Plain data.
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
    std::optional<milliseconds> ended_ms;  // none: still open when the run, or the window looked at, ended
    bool failed = false;
    std::vector<std::size_t> inputs;  // events
    std::vector<reaction> reactions;  // by input; none while open or failed
    std::size_t outputs = 0;
  };
  struct event_fact {
    std::size_t source = no_index;  // activation
    milliseconds at_ms = 0;
    std::vector<std::size_t> recipients;  // agents
    bool work = true;                     // not submitted, not fyi, not the monitor's own
    std::size_t depth = 0;                // longest chain of derivations from a root
    std::optional<milliseconds> consumed_ms;
    std::vector<std::size_t> consumers;  // agents, each once
  };

  std::string run;
  std::map<std::string, std::string> labels;  // of hello; the first session's win
  std::map<std::string, double> metrics;      // of run_ended
  run_outcome outcome = run_outcome::none;
  bool ended = false;

  std::vector<std::string> agents;           // named ever, in order; those of the roster first
  std::vector<activation_fact> activations;  // in order of their start
  std::vector<event_fact> events;            // in order of their announcement
  std::vector<std::size_t> pending;          // deliveries waiting, after each message
  std::uint64_t messages = 0, refused = 0, gaps = 0;
  std::uint64_t fired[rule_count] = {};
  std::uint64_t failures = 0;  // detections of severity failure
  std::uint64_t injections = 0, interventions = 0, reroute_verdicts = 0;
  std::uint64_t cleared = 0, recurred = 0, unresolved = 0;
  milliseconds first_ms = 0, last_ms = 0;

  std::shared_ptr<const run_facts> whole;  // the run without the window, where one was set: for its outcome

  const run_facts& in_full() const { return whole ? *whole : *this; }
};

// Only the beginning of each run, so that long runs and short ones can be compared. 0: all of it.
struct run_window {
  milliseconds first_ms = 0;
  std::uint64_t first_messages = 0;
};

}  // namespace digd::causal
