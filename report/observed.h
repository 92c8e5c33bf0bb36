// Observations of a run: counts, histograms and the most important items. They are collected in one pass.
//
// An `observer` replays the run's trace. It keeps sums, histograms and the first items of each list, so memory does not
// depend on the length of the run. Names and texts are unescaped: the writers escape them. Thread: one. Bounds:
// `observe_bounds`; items beyond a bound are counted, and the report shows the count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/policy.h"
#include "model/answer.h"
#include "model/settings.h"
#include "report/inferred.h"
#include "report/time_bins.h"
#include "report/usage.h"

namespace digd::report {

using index = std::uint32_t;
inline constexpr index none = std::numeric_limits<index>::max();

struct observe_bounds {
  std::size_t agents = 2'000;    // with their own row; the others share one
  std::size_t flows = 20'000;    // pairs of agents
  std::size_t spans = 1'500;     // activations listed; with more, only the histogram
  std::size_t detections = 200;  // listed with all details
  std::size_t of_a_rule = 50;    // of one rule, likewise
  std::size_t bins = 120;        // of a histogram over time
  std::size_t pending = 50;      // events that still wait at the end
  std::size_t notes = 100;       // gaps, switches, refusals, who joined and left
};

struct agent_facts {
  std::string name;
  bool member = false;  // was in the roster at a time when the run named it
  std::uint64_t activations = 0, failed = 0, open = 0;
  milliseconds busy_ms = 0;  // sum over ended activations
  std::uint64_t inputs = 0, consumed = 0, waited = 0, discarded = 0, rerouted = 0;
  std::uint64_t outputs = 0;
  std::uint64_t findings = 0;         // that name the agent or an event it created
  std::vector<std::uint32_t> starts;  // of activations, by bin
};

// Events from one agent to another.
struct flow {
  static constexpr index outside = none, monitor = none - 1;
  index from = outside, to = 0;
  std::uint64_t given = 0;
  std::uint64_t idle = 0;  // of these: left waiting, discarded or rerouted; one for each reaction
};

struct span {
  index agent = 0;
  std::string id;
  milliseconds started = 0, ended = 0;
  bool open = true, failed = false;
};

struct reported_detection {
  digd::detection detection;  // with its witness
  std::uint64_t line = 0;     // of the trace
  std::string inject;         // the text that went with the healing; empty: none
  std::vector<std::string> recipients;
  std::optional<outcome_kind> outcome;
  milliseconds outcome_ts = 0;
};

struct rule_facts {
  std::uint64_t found = 0, healed = 0;
  std::array<std::uint64_t, 3> outcomes{};          // by outcome_kind
  std::array<std::uint64_t, cause_count> causes{};  // of unhealed detections, by cause
  std::vector<std::uint32_t> over_time;             // by bin
};

struct waiting_event {
  std::string id;
  std::vector<std::string> at;  // agents, at most 5
};

struct timed_note {
  milliseconds ts = 0;
  std::string text;
  bool ends_run = false;
};

struct observed {
  std::string run;
  digd::mode mode = mode::enforce;
  clock_kind clock = clock_kind::wall;
  std::vector<std::pair<std::string, std::string>> labels;
  std::uint64_t messages = 0, refused = 0, lines = 0;
  std::uint64_t events = 0;  // announced, and created by digd
  std::uint64_t activations = 0, failed = 0, system_events = 0, dropped = 0;
  std::uint64_t found = 0, healed = 0;
  milliseconds first_ts = 0, last_ts = 0;
  run_outcome ended = run_outcome::none;
  bool submitted = false;  // an answer was delivered
  std::string ended_text;  // "success"; empty while the run is open
  inferred guessed;
  time_bins time;
  std::vector<agent_facts> agents;  // the last one may be the sum of all others
  std::uint64_t agents_left_out = 0;
  std::vector<flow> flows;  // ordered by the number of events
  std::uint64_t flows_left_out = 0;
  std::vector<span> spans;  // empty if there were more than the bound
  std::array<rule_facts, rule_count> rules;
  std::vector<reported_detection> detections;
  std::vector<waiting_event> pending;
  std::uint64_t pending_total = 0;
  std::vector<timed_note> notes;
  std::uint64_t notes_left_out = 0;
  std::uint64_t open_at_end = 0;
  usage_facts usage;
  double replay_seconds = 0;  // the duration of this pass: the cost of a replay

  // Agents that were in the roster or acted.
  std::uint64_t members() const;
  // The leading detection: the first listed failure, else the first warning; null: none.
  const reported_detection* leading() const;
};

class observer {
 public:
  explicit observer(const observe_bounds& bounds = {}, const run_policy& policy = {});
  ~observer();

  // Takes one line of the trace. False: the trace cannot be replayed (`problem`).
  bool line(std::string_view text);
  const std::string& problem() const;
  // Once, after the last line.
  observed finish();

 private:
  class builder;
  std::unique_ptr<builder> builder_;
};

// Replays the lines of a trace, up to one that cannot be replayed.
observed observe(std::string_view trace);

}  // namespace digd::report
