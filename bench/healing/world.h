// The simulated system: agents, their buffers, a virtual clock. A run is a pure function of the cell, the seed, the
// parameters and what the monitor answers.
//
// The clock is the messages' own (`clock: "trace"`), with a `time` message every second, so that windows fire at most
// a second late, as they would with a timer. An agent is activated when its buffer changed while it was idle (paper,
// section 3), with everything in it. Bounds: the time limit ends every run.
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

namespace digd::bench {

struct cell {
  int agents = 1;
  std::int64_t integers = 1'000;
};

struct outcome {
  bool answered = false;            // an answer was let through within the time limit
  bool valid = false;               // and it counts every element, none twice
  std::int64_t missing = 0;         // elements that the answer leaves out
  std::int64_t repeated = 0;        // counts of elements that it has already
  double rmse = 0;                  // of the answer; of an empty table if there is none
  milliseconds time_ms = 0;         // to the answer; the time limit if there is none
  std::int64_t computed = 0;        // elements counted off raw data, each as often as that was done
  milliseconds known_ms = -1;       // when results for all elements were there, in whosever hands; -1: never
  milliseconds found_ms = -1;       // when a valid answer was first submitted, let through or not; -1: never
  std::uint64_t calls = 0;          // model calls begun
  std::uint64_t interventions = 0;  // verdicts other than deliver, and interventions
  tally counted;
  bool operator==(const outcome&) const = default;
};

class world {
 public:
  world(const cell& where, std::uint64_t seed, const parameters& parameters, monitor& to);
  outcome live();

  // For tests: what each agent's buffer holds, by event id.
  std::vector<std::string> buffer_of(int agent) const;
  const std::vector<std::string>& names() const { return names_; }
  // Called with every message before it is told, and whenever what came of it is done.
  std::function<void(const report&)> on_told;
  std::function<void()> on_settled;

 private:
  enum class what_next : std::uint8_t { wake, end, beat };
  struct due {
    milliseconds at;
    std::uint64_t order;
    digd::bench::world::what_next what_next;
    int agent;
    bool operator<(const due& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
  };
  struct seat {  // an agent's place in the world
    agent mind;
    std::vector<presented> buffer;
    bool awake = false;  // an activation is open, or a wake is planned
    bool open = false;
    bool changed = false;  // the buffer, since the activation started
    std::string activation;
    std::vector<int> inputs;  // items
    decision doing;
  };

  void begin();
  void wake(int a);
  void end(int a);
  void react(seat& who, report& r, std::vector<int>& blocked);
  void put_out(seat& who, report& r, std::vector<int>& blocked);
  void obey(const report& r, const std::vector<int>& blocked, const instruction& instruction);
  void intervene(const instruction& instruction);
  instruction tell(report r);
  void give(int number, const std::vector<std::string>& recipients, std::vector<hint> hints, bool given_back);
  void plan_wake(int a);
  void plan(milliseconds at, what_next what_next, int a) { queue_.push({at, ++planned_, what_next, a}); }
  milliseconds call_time(const seat& who) const;
  int add_item(item item);
  void note(const item& put_out);
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
  std::vector<seat> seats_;
  std::priority_queue<due> queue_;
  std::uint64_t planned_ = 0, hints_ = 0;
  milliseconds now_ = 0, paused_until_ = 0;
  std::optional<int> answer_;  // item
  cover known_;                // what all results so far count, until that is everything
  outcome counts_;
};

}  // namespace digd::bench
