// What a run used, over time and by agent, how far it fanned out, and what became of its holds.
//
// A `usage_observer` follows one replay, with its own view of the run. Names are unescaped. Thread: one. Bounds: the
// `max_` constants below; the number of bins; agents as the engine bounds them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/run.h"
#include "ingest/protocol/record.h"
#include "model/guard.h"
#include "model/message.h"
#include "report/time_bins.h"
#include "rules/guards/spending.h"

namespace digd::report {

// Amounts in each bin: sums, or the greatest value.
using bin_values = std::vector<std::uint64_t>;

struct agent_usage {
  std::string name;
  usage_amounts used;
  spent_totals guarded{};         // what `budget` compares with its limits
  std::uint64_t activations = 0;  // started
  bin_values tokens, cost;        // empty: not followed, or nothing was reported
};

struct fanned_out {
  std::string activation, agent;
  std::uint64_t outputs = 0;  // of work
  std::uint64_t depth = 0;    // of the outputs
};

struct usage_facts {
  static constexpr std::size_t max_agents = 100;     // listed
  static constexpr std::size_t max_followed = 20;    // of these, with a series
  static constexpr std::size_t max_fanned_out = 20;  // activations listed
  static constexpr std::size_t max_depths = 64;      // the last one counts all deeper events

  usage_amounts used;
  spent_totals totals{}, guarded{};
  std::uint64_t started = 0;        // activations
  bool has_budget = false;          // the guard is on
  bool is_reported = false;         // a message reported usage
  std::string guards = "{}";        // JSON: the guards that are on, as in `welcome`
  std::vector<agent_usage> agents;  // the most expensive first
  std::uint64_t agents_left_out = 0;
  bin_values tokens, cost, model_calls, tool_calls, activations;  // sums
  bin_values depth, live;                                         // the greatest
  std::vector<std::uint64_t> depths;                              // of work events
  std::uint64_t max_depth = 0, max_live = 0;
  std::vector<fanned_out> widest;
  std::uint64_t holds = 0, holds_open = 0, holds_released = 0, holds_returned = 0, decisions = 0;

  bool has_any() const { return is_reported || guards != "{}" || holds > 0; }
};

class usage_observer {
 public:
  // `accepted`: the decoded message if the record is an accepted message, otherwise null. The bins of `time` must
  // already cover the record's time.
  void hear(const ingest::record& of, const message* accepted, const run& run, const time_bins& time);
  // The bins become wider by that many doublings.
  void halve(int times);
  usage_facts finish(const run* run);

 private:
  void add_usage(graph::agent_index agent, const usage_amounts& used, std::size_t bin);
  void add_activation(std::string_view activation, const graph::graph& g, std::size_t bin);
  agent_usage& of_agent(graph::agent_index agent);
  void announce(std::string_view event, const graph::graph& g, std::size_t bin);
  void count_outputs(const graph::activation_node& of, const graph::graph& g, std::uint64_t depth);

  usage_facts facts_;
  std::vector<agent_usage> agents_;  // by agent_index
};

// What `GET /v1/runs/ID/usage` answers, and the member `usage` of a report.
std::string usage_json(std::string_view run, clock_kind clock, const time_bins& time, const usage_facts& facts);

}  // namespace digd::report
