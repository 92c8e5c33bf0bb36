// What digd saw of a run, in numbers and in what is worth telling: the plain half of a report, made in one pass.
//
// An `observer` replays the run's trace and keeps sums, histograms and the first of everything that is told one by one,
// so that a run of any length takes the same memory. Names and texts are as agents chose them: writers escape them.
// Thread: one. Bounds: `observe_bounds`; what was over one is counted, and the report says so.
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

namespace digd::report {

using index = std::uint32_t;
inline constexpr index none = std::numeric_limits<index>::max();

struct observe_bounds {
  std::size_t agents = 2'000;    // with a row of their own; the others share one
  std::size_t flows = 20'000;    // pairs of agents
  std::size_t spans = 1'500;     // activations told one by one; of more runs only the histogram
  std::size_t detections = 200;  // told in full
  std::size_t of_a_rule = 50;    // likewise
  std::size_t bins = 120;        // of a histogram over time
  std::size_t pending = 50;      // events that still wait at the end
  std::size_t notes = 100;       // gaps, switches, refusals, who joined and left
};

// Counts over time in equal bins. The bins double in width as the time goes on, so that there are never more.
// Times are not earlier than `start`.
struct time_bins {
  milliseconds start = 0, width = 1;  // ms
  std::size_t most = 120;

  // Where `ts` belongs, after `widen` gave room for it.
  std::size_t of(milliseconds ts) const;
  // How many times the width has to double for `ts`.
  int doublings_for(milliseconds ts) const;
};

// Adds neighbours together, `times` times.
void halve(std::vector<std::uint32_t>& bins, int times);

struct agent_facts {
  std::string name;
  bool member = false;  // was in the roster, as far as it was named while it was
  std::uint64_t activations = 0, failed = 0, open = 0;
  milliseconds busy_ms = 0;  // of ended activations, together
  std::uint64_t inputs = 0, consumed = 0, waited = 0, discarded = 0, rerouted = 0;
  std::uint64_t outputs = 0;
  std::uint64_t findings = 0;         // that name it, or an event of its making
  std::vector<std::uint32_t> starts;  // of activations, by bin
};

// Events from one agent to another.
struct flow {
  static constexpr index outside = none, monitor = none - 1;
  index from = outside, to = 0;
  std::uint64_t given = 0;
  std::uint64_t idle = 0;  // of these, what was left waiting, discarded or rerouted, counted once a reaction
};

struct span {
  index agent = 0;
  std::string id;
  milliseconds started = 0, ended = 0;
  bool open = true, failed = false;
};

struct told_detection {
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
};

struct observed {
  std::string run;
  digd::mode mode = mode::enforce;
  clock_kind clock = clock_kind::wall;
  std::vector<std::pair<std::string, std::string>> labels;
  std::uint64_t messages = 0, refused = 0, lines = 0;
  std::uint64_t events = 0, activations = 0, failed = 0, system_events = 0, dropped = 0;
  std::uint64_t found = 0, healed = 0;
  milliseconds first_ts = 0, last_ts = 0;
  run_outcome ended = run_outcome::none;
  bool submitted = false;  // an answer was let through
  std::string ended_text;  // "success"; empty while it goes on
  time_bins time;
  std::vector<agent_facts> agents;  // the last may be the others together
  std::uint64_t agents_left_out = 0;
  std::vector<flow> flows;  // most given first
  std::uint64_t flows_left_out = 0;
  std::vector<span> spans;  // empty if there were more than the bound
  std::array<rule_facts, rule_count> rules;
  std::vector<told_detection> detections;
  std::vector<waiting_event> pending;
  std::uint64_t pending_total = 0;
  std::vector<timed_note> notes;
  std::uint64_t notes_left_out = 0;
  std::uint64_t open_at_end = 0;
  double replay_seconds = 0;  // that this pass took: what one more replay costs

  // Agents that were in the roster or acted.
  std::uint64_t members() const;
  // The detection that the verdict is about: the first failure told, else the first warning; null if there is none.
  const told_detection* leading() const;
};

class observer {
 public:
  explicit observer(const observe_bounds& most = {}, const run_policy& policy = {});
  ~observer();

  // One line of the trace. False: it cannot go on (`problem`).
  bool line(std::string_view text);
  const std::string& problem() const;
  // After the last line; once.
  observed finish();

 private:
  class builder;
  std::unique_ptr<builder> builder_;
};

}  // namespace digd::report
