// Whether a finding is healed, and why not: modes, capabilities, targets, attempts and the run's budget
// (semantics.md, "Healing").
//
// One per run, on its engine thread. A *case* is one blocked event or one window: whatever heals in it costs the
// budget one.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "model/answer.h"
#include "model/settings.h"
#include "rules/rule.h"

namespace digd {

// What one finding leads to.
struct remedy {
  digd::cause cause = digd::cause::none;    // none: it is healed
  action healing = action::none;            // done, or in shadow what would have been
  std::vector<graph::agent_index> targets;  // of a reroute or a created event
  std::string text;                         // to inject; empty where the client cannot
  bool healed() const { return cause == digd::cause::none; }
};

class healer {
 public:
  healer(graph::graph& g, const run_settings& settings) : graph_(g), settings_(settings) {}

  // Begins a case. `as_is`: the message went out before it could be judged. `able`: what the client can do.
  void open_case(bool as_is, const capabilities& able);
  remedy decide(const rule& which, const finding& finding);
  void close_case();
  // Decides about a finding that is reported because the run ended: it is never healed, and costs nothing.
  remedy decide_at_end(const rule& which, const finding& finding) const;

  std::uint64_t budget_used() const { return budget_used_; }
  std::uint64_t attempts(rule_id id) const { return attempts_[index_of(id)]; }

 private:
  digd::cause obstacle(const rule& which, const finding& finding, const remedy& so_far) const;
  bool can(action action) const;
  mode mode_of(const rule& which, const finding& finding) const;
  bool attempts_used_up(const rule& which, const finding& finding) const;
  bool returns_used_up(const rule& which, const remedy& so_far) const;
  void count_attempt(const rule& which, const finding& finding, const remedy& done);

  graph::graph& graph_;
  const run_settings& settings_;
  std::array<std::uint64_t, rule_count> attempts_{};  // of the rules that count them by run
  // How often each agent was made to act again by the rules that do that; at most one entry an agent of the run.
  boost::unordered_flat_map<graph::agent_index, std::uint64_t> returns_;
  std::uint64_t budget_used_ = 0;
  bool as_is_ = false;
  bool healed_any_ = false;
  capabilities able_;
};

}  // namespace digd
