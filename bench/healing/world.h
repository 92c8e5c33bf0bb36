// The simulated system: agents, their buffers, a virtual clock. A run is a pure function of the cell, the seed, the
// parameters and the monitor's answers.
//
// The messages carry the clock (`clock: "trace"`), with a `time` message every second, so that windows fire at most a
// second late, as with a timer. An agent is activated when its buffer changed while it was idle (DIG to Heal, section
// 3), with everything in the buffer. Bounds: the time limit ends every run. Thread: one world a thread; worlds share
// nothing. Lifetime: the monitor outlives it. Failure: what the monitor throws.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "bench/healing/agent.h"
#include "bench/healing/monitor.h"
#include "bench/healing/score.h"

namespace digd::bench {

struct cell {
  int agents = 1;
  std::int64_t integers = 1'000;
};

struct outcome {
  bool answered = false;            // an answer was delivered within the time limit
  bool valid = false;               // the answer counts every element exactly once
  std::int64_t missing = 0;         // elements that the answer lacks
  std::int64_t repeated = 0;        // surplus counts of elements
  double rmse = 0;                  // of the answer, or of an empty table
  milliseconds time_ms = 0;         // until the answer; the time limit without one
  std::int64_t computed = 0;        // elements counted from raw data, with repetitions
  milliseconds known_ms = -1;       // when results for all elements existed anywhere; -1: never
  milliseconds found_ms = -1;       // when a valid answer was first submitted, delivered or not; -1: never
  std::uint64_t calls = 0;          // model calls started
  double tokens = 0;                // the stand-in for tokens, of agents and monitor
  std::uint64_t interventions = 0;  // verdicts other than deliver, and interventions
  std::uint64_t texts_read = 0, texts_followed = 0;
  std::uint64_t answers = 0;         // submitted, delivered or not
  std::uint64_t valid_returned = 0;  // valid answers that were given back
  scores scored;
  tally counted;
  bool operator==(const outcome&) const = default;
};

class world {
 public:
  world(const cell& where, std::uint64_t seed, const parameters& parameters, monitor& to);
  outcome live();

  // For tests: the event ids in an agent's buffer.
  std::vector<std::string> buffer_of(int agent) const;
  const std::vector<std::string>& names() const { return names_; }
  // For tests: called with every message before the monitor hears it, and after its answer has taken effect.
  std::function<void(const report&)> on_report;
  std::function<void()> on_settled;

 private:
  enum class due_kind : std::uint8_t { wake, end, beat };
  struct due {
    milliseconds at;
    std::uint64_t order;
    due_kind kind;
    int agent;
    bool operator<(const due& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
  };
  struct agent_slot {  // an agent with its buffer and its current activation
    agent mind;
    std::vector<presented> buffer;
    bool awake = false;  // an activation is open or scheduled
    bool open = false;
    bool changed = false;  // whether the buffer changed since the activation started
    std::string activation;
    std::vector<int> inputs;  // numbers of items
    decision doing;
  };

  void begin();
  void wake(int a);
  void end(int a);
  void react(agent_slot& slot, report& r, std::vector<int>& blocked);
  void put_out(agent_slot& slot, report& r, std::vector<int>& blocked);
  void obey(const report& r, const std::vector<int>& blocked, const instruction& instruction);
  void intervene(const instruction& instruction);
  instruction tell(report r);
  void give(int number, const std::vector<std::string>& recipients, const std::string& text, bool given_back);
  void accept(int number);
  hint hint_of(int number, const std::string& text, bool given_back);
  void plan_wake(int a);
  void plan(milliseconds at, due_kind kind, int a) { queue_.push({at, ++planned_, kind, a}); }
  milliseconds call_time(const agent_slot& slot) const;
  int add_item(item item);
  void note(const item& put_out);
  void count_tokens(const agent_slot& slot);
  std::vector<std::string> names_of(const std::vector<int>& agents) const;
  void finish(outcome& out);

  const cell where_;
  const parameters parameters_;
  const draws chance_;
  const problem task_;
  monitor& monitor_;
  std::vector<std::string> names_;
  std::map<std::string, int> numbers_;  // of agents
  std::map<std::string, int> items_by_id_;
  std::vector<item> items_;
  std::vector<agent_slot> slots_;
  std::priority_queue<due> queue_;
  std::uint64_t planned_ = 0, hints_ = 0;
  milliseconds now_ = 0, paused_until_ = 0;
  std::optional<int> answer_;            // number of the item
  milliseconds answer_ms_ = 0;           // when it is accepted
  std::vector<item_history> histories_;  // by number of the item
  cover known_;                          // the elements that the results so far count, until complete
  outcome counts_;
};

}  // namespace digd::bench
