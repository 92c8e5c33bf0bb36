// Turns remedies into verdicts on held events and into interventions, and carries them out in the graph.
//
// One `interventions` per run, on its engine thread. Bounds: it keeps counters only. Failure: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "healing/healer.h"
#include "model/answer.h"
#include "rules/rule.h"

namespace digd {

// A blocked event of the message being judged.
struct held_event {
  blocked_event blocked;
  bool judged = true;                          // false: announced too late to be judged
  bool skipped = false;                        // `limits.judging_work` was used up before it was judged
  graph::agent_index back_to = graph::nobody;  // the agent that gets it back; nobody: it is delivered

  // ---- for guards
  const event_draft* draft = nullptr;           // null: it is rerouted
  std::vector<graph::agent_index> given;        // whose delivery this message made pending
  guard_action placed = guard_action::observe;  // what a guard decided: give_back, hold or cancel; observe: nothing
  rule_id placed_by{};                          // that guard
  graph::agent_index spender = graph::nobody;   // of a budget hold: the detection's agent

  bool is_placed() const { return back_to != graph::nobody || placed != guard_action::observe; }
};

// Adds a remedy to the verdict on a held event. A reroute outweighs an injection; texts are joined.
void add_remedy(const remedy& decided, action healing, const graph::graph& g, held_event& held, verdict& v);

// The same for a guard. A hold's number is not set here.
void add_guard_remedy(const remedy& decided, const finding& found, const graph::graph& g, held_event& held, verdict& v);

// Gives the event back in the graph or withdraws it, if that is its verdict.
void carry_out_verdict(const held_event& held, graph::graph& g);

// The interventions of a run: events that the monitor creates or gives back because a window fired, and cancels.
class interventions {
 public:
  // The intervention that heals a finding of a window. Takes the next id: `sys:N`, or `give:EVENT:N`.
  intervention prepare(graph::graph& g, const rule& rule, const finding& found, const remedy& decided);
  // Records it in the graph.
  static void carry_out(const intervention& prepared, graph::graph& g, const finding& found, const remedy& decided);

  // The intervention that asks to end these activations. Takes the next id, `cancel:N`.
  intervention prepare_cancel(const graph::graph& g, std::span<const graph::activation_index> activations,
                              const remedy& decided);

  std::uint64_t created() const { return created_; }
  std::uint64_t cancels() const { return cancels_; }
  // Call when the graph is emptied. Later give-backs then get higher numbers than all earlier ones. An id repeats only
  // if a client reuses the id of a forgotten event.
  void forget_events() { give_backs_before_ = last_give_back_; }

 private:
  std::uint64_t created_ = 0;                                 // system events so far
  std::uint64_t cancels_ = 0;                                 // the highest N of a cancel:N
  std::uint64_t give_backs_before_ = 0, last_give_back_ = 0;  // the highest N of a give:EVENT:N
};

}  // namespace digd
