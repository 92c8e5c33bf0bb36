// The control: as many interventions as digd made in the same run, of the same kinds, with the same texts, but at
// random times and places. What digd does better than this it owes to knowing where and when.
#pragma once

#include <optional>
#include <vector>

#include "bench/healing/engine_monitor.h"
#include "rules/rule.h"

namespace digd::bench {

// One intervention to make, whenever it is `at` or later and there is something to make it on.
struct planned_intervention {
  milliseconds at = 0;
  digd::action action = action::inject;  // inject and reroute: on a blocked event; create: at a tick of the clock
  rule_id rule{};
};

// Listens to digd enforcing and notes what it does.
class recorder final : public monitor {
 public:
  explicit recorder(monitor& inner) : inner_(inner) {}
  void open(const std::vector<std::string>& agents, const parameters& parameters) override {
    inner_.open(agents, parameters);
  }
  instruction hear(const report& report) override;
  tally counted() const override { return inner_.counted(); }
  const std::vector<planned_intervention>& noted() const { return noted_; }

 private:
  void note(milliseconds at, digd::action action, const std::vector<hint>& hints);
  monitor& inner_;
  std::vector<planned_intervention> noted_;
};

class control final : public monitor {
 public:
  // `like`: what digd did in a run that took `lasted` ms.
  control(const draws& chance, std::vector<planned_intervention> like, milliseconds lasted);
  void open(const std::vector<std::string>& agents, const parameters& parameters) override;
  instruction hear(const report& report) override;
  tally counted() const override { return observer_.counted(); }

 private:
  std::optional<planned_intervention> take(milliseconds now, bool on_event);
  instruction on_blocked(report report);
  text_facts anything(const std::string& event, random_stream& s) const;
  instruction on_tick(const report& report);

  const draws chance_;
  engine_monitor observer_;                // counts what the rules see
  std::vector<planned_intervention> due_;  // by time
  std::vector<std::string> agents_;
  std::uint64_t made_ = 0;
};

// A notice from somebody other than digd, told to digd as an event that asks nothing.
instruction::intervention announce_notice(engine_monitor& to, const std::string& id, milliseconds now,
                                          std::vector<std::string> recipients, hint hint);

}  // namespace digd::bench
