// The control: as many interventions as digd made in the same run, of the same kinds and with the same texts, but at
// random times and places. The difference to digd is the value of knowing where and when.
#pragma once

#include <optional>
#include <vector>

#include "bench/healing/engine_monitor.h"
#include "rules/rule.h"

namespace digd::bench {

// One intervention to make at the first opportunity at or after `at`.
struct planned_intervention {
  milliseconds at = 0;
  digd::action action = action::inject;  // inject, reroute: on a blocked event; create: at a tick
  rule_id rule{};
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
  const std::vector<planned_intervention>& noted() const { return noted_; }

 private:
  void note(milliseconds at, digd::action action, const std::vector<hint>& hints);
  monitor& inner_;
  std::vector<planned_intervention> noted_;
};

class control final : public monitor {
 public:
  // `like`: the interventions of digd in a run that took `lasted` ms.
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
  engine_monitor observer_;                // counts detections
  std::vector<planned_intervention> due_;  // sorted by time
  std::vector<std::string> agents_;
  std::uint64_t made_ = 0;
};

// Announces a notice by another monitor to digd, as an fyi event, and returns the intervention that delivers it.
instruction::intervention announce_notice(engine_monitor& to, const std::string& id, milliseconds now,
                                          std::vector<std::string> recipients, hint hint);

}  // namespace digd::bench
