// The controls: monitors that act without digd's knowledge. digd observes beside them, for the record.
//
// The blind guard gives the first three answers back, always, with the same text. Random texts come as often as digd
// intervened in the same run, at random times and places; they destroy no work. The texts are those of the study with
// real agents (bench/study/controls.py) and name nobody. Thread: the run's. Lifetime: the monitor that a `recorder`
// wraps outlives it. Bounds: a `recorder` keeps an entry for each intervention.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/healing/engine_monitor.h"

namespace digd::bench {

inline constexpr std::string_view blind_text =
    "Your answer was not accepted yet. Check whether every team mate has reported and nothing is missing. Then answer "
    "again.";
inline constexpr std::string_view neutral_text =
    "Please check that you have all you need, and tell the others what they need from you.";

// A monitor beside which digd observes, unless `asks` says otherwise.
class control : public monitor {
 public:
  explicit control(regime asks = "\"mode\":\"observe\"");
  void open(const std::vector<std::string>& agents, const parameters& parameters) override;
  tally counted() const override { return observer_.counted(); }
  const std::vector<detection>& detections() const override { return observer_.detections(); }

 protected:
  // The position of the message's submit event; -1: there is none.
  static int answer_in(const report& message);
  // Gives the message's answer back to its author. digd observes an event that was never submitted.
  instruction give_back(report message, int answer, std::string_view text);
  // A system event by this monitor, which digd sees as an fyi event.
  instruction::intervention notice(milliseconds now, std::vector<std::string> recipients, std::string_view text);

  engine_monitor observer_;
  std::vector<std::string> agents_;
  parameters parameters_;

 private:
  std::uint64_t notices_ = 0;
};

class blind_guard final : public control {
 public:
  explicit blind_guard(int max_returns) : left_(max_returns) {}
  blind_guard(int max_returns, regime asks) : control(std::move(asks)), left_(max_returns) {}
  instruction hear(const report& message) override;

 private:
  int left_;
};

// One intervention of digd, to be imitated at a random time. A text with a message goes to one event of a message; a
// notice goes to so many agents.
struct planned_text {
  milliseconds at = 0;
  std::size_t recipients = 0;  // of a notice; 0: a text with a message
};

// Wraps a monitor and records its interventions.
class recorder final : public monitor {
 public:
  explicit recorder(monitor& inner) : inner_(inner) {}
  void open(const std::vector<std::string>& agents, const parameters& parameters) override {
    inner_.open(agents, parameters);
  }
  instruction hear(const report& report) override;
  tally counted() const override { return inner_.counted(); }
  const std::vector<planned_text>& noted() const { return noted_; }

 private:
  monitor& inner_;
  std::vector<planned_text> noted_;
};

class random_texts final : public control {
 public:
  // `like`: the interventions of digd in a run that took `lasted` ms.
  random_texts(const draws& chance, std::vector<planned_text> like, milliseconds lasted);
  instruction hear(const report& message) override;

 private:
  bool take(milliseconds now, bool with_message, planned_text& due);

  const draws chance_;
  std::vector<planned_text> due_;  // sorted by time
  std::uint64_t made_ = 0;
};

}  // namespace digd::bench
