// Decides whether a finding is healed, and if not, why: modes, capabilities, targets, attempts and the run's budget
// (semantics.md, "Healing").
//
// One per run, on its engine thread. A *case* is one blocked event or one window: all healings in it together cost one
// unit of the budget. Bounds: one counter for each rule, one for each agent that was made to act again, and one for
// each guard and sender. Lifetime: the graph and the settings outlive it. Failure: none; a finding that is not healed
// has its `cause`.
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

// The facts besides the finding that decide how a guard's finding is handled.
struct guard_case {
  bool is_placed = false;       // a rule or another guard has decided where the event goes
  bool has_deliveries = false;  // the message made a delivery of the event pending
};

// The decision on one finding.
struct remedy {
  digd::cause cause = digd::cause::none;    // none: it is healed
  action healing = action::none;            // what is done; in shadow mode, what would have been done
  std::vector<graph::agent_index> targets;  // of a reroute or a created event
  std::string text;                         // to inject; empty if the client cannot inject
  bool healed() const { return cause == digd::cause::none; }
};

class healer {
 public:
  healer(graph::graph& g, const run_settings& settings) : graph_(g), settings_(settings) {}

  // Opens a case. `as_is`: the message was delivered before it could be judged. `able`: what the client can do.
  void open_case(bool as_is, const capabilities& able);
  remedy decide(const rule& rule, const finding& found);
  // Counts a firing of a guard and sets `found.action` to the sender's next action in the guard's list. A warning does
  // not count as a firing and always injects. A finding without an event can only cancel or observe.
  void choose_action(finding& found);
  // Decides on a guard's finding, whose `action` says what to do. If the remedy is a `reroute` without targets, nobody
  // gets the event. Sets `found.to_nobody`, on which the text depends.
  remedy decide_guard(const rule& guard, finding& found, const guard_case& about);
  void close_case();
  // The open activations that a cancel asks to end, sorted by id.
  std::vector<graph::activation_index> to_cancel(const finding& found) const;
  // Decides on a finding that is reported because the run ended: it is never healed and costs nothing.
  remedy decide_at_end(const rule& rule, const finding& found) const;

  std::uint64_t budget_used() const { return budget_used_; }

 private:
  void fill_in_text(const rule& rule, const finding& found, remedy& decided) const;
  digd::cause guard_obstacle(const rule& guard, const finding& found, const guard_case& about,
                             const remedy& planned) const;
  digd::cause obstacle(const rule& rule, const finding& found, const remedy& planned) const;
  bool cancels_run(const finding& found) const;
  std::size_t count_to_cancel(const finding& found) const;
  bool is_able_to(action healing) const;
  mode mode_for(const rule& rule, const finding& found) const;
  bool attempts_used_up(const rule& rule, const finding& found) const;
  bool returns_used_up(const rule& rule, const remedy& planned) const;
  bool returns_used_up(graph::agent_index agent) const;
  void count_attempt(const rule& rule, const finding& found, const remedy& decided);

  graph::graph& graph_;
  const run_settings& settings_;
  std::array<std::uint64_t, rule_count> attempts_{};  // of the rules that count them for the run
  // Healings that made an agent act again, by agent (rule_traits::returns).
  boost::unordered_flat_map<graph::agent_index, std::uint64_t> returns_;
  std::array<boost::unordered_flat_map<graph::agent_index, std::uint64_t>, guard_count> firings_;  // by sender
  std::uint64_t budget_used_ = 0;
  bool as_is_ = false;
  bool healed_any_ = false;
  capabilities able_;
};

}  // namespace digd
