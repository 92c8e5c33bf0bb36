// The monitors of the simulated system: none, digd's engine in this process, digd's daemon behind a driver, and the
// controls. The world reports events to its monitor and carries out the answers.
//
// Thread: a monitor belongs to one run, and to the thread that plays it. Failure: `hear` may throw.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/healing/agent.h"
#include "model/answer.h"

namespace digd::bench {

// One message of the ingest protocol, with additional facts for the controls.
struct report {
  struct event {
    std::string id;
    std::string kind;
    std::vector<std::string> recipients;
    bool submit = false;
    bool fyi = false;
    cover label;  // the elements that it names: of a part, or of a labelled result; for the judge
  };
  struct reacted {
    std::string input;
    digd::reaction reaction = reaction::consume;
    std::vector<std::string> targets;
  };
  message_type type = message_type::time;
  milliseconds ts = 0;
  std::string agent;  // activation_started; also activation_ended, for the controls
  std::string activation;
  std::vector<std::string> inputs;  // activation_started
  std::vector<reacted> reactions;   // activation_ended
  std::vector<event> events;        // event, activation_ended
  bool failed = false;
  std::string of;  // delivery: the intervention that it reports on
  digd::applied applied = applied::created;
  run_outcome outcome = run_outcome::none;
};

// A monitor's answer to one message.
struct instruction {
  struct verdict {
    digd::action action = action::deliver;
    std::vector<std::string> recipients;  // of a reroute
    std::string text;
  };
  struct intervention {
    std::string id;
    digd::action action = action::create;
    std::string event;  // of a reroute
    std::vector<std::string> recipients;
    std::string text;
    bool wants_report = true;  // the world answers with a `delivery`
  };
  std::vector<verdict> verdicts;  // one a blocked event: rerouted inputs in order, then events
  std::vector<intervention> interventions;
  milliseconds paused_until = 0;  // no activation starts before, and no answer is accepted before
  double tokens = 0;              // that the monitor itself used
};

// Counts of a monitor over a run.
struct tally {
  std::array<std::uint64_t, rule_count> detections{};
  std::array<std::uint64_t, rule_count> healed{};
  std::array<std::array<std::uint64_t, 3>, rule_count> outcomes{};  // by outcome_kind
  std::uint64_t refused = 0;  // refused messages; always 0 unless the world has a bug
  bool operator==(const tally&) const = default;
};

class monitor {
 public:
  virtual ~monitor() = default;
  // Called once, before `hear`.
  virtual void open(const std::vector<std::string>& agents, const parameters& parameters) = 0;
  virtual instruction hear(const report& report) = 0;
  virtual tally counted() const { return {}; }
  // The detections of the run, oldest first, at most `max_kept`; none if nothing observes.
  virtual const std::vector<detection>& detections() const;
  static constexpr std::size_t max_kept = 10'000;
};

// No monitor: delivers everything.
class nobody final : public monitor {
 public:
  void open(const std::vector<std::string>&, const parameters&) override {}
  instruction hear(const report& report) override;
};

// The number of events of the message that wait for a verdict.
std::size_t blocked_in(const report& report);

}  // namespace digd::bench
