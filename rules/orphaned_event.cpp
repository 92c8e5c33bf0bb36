// Orphaned event (OE). An event reaches nobody: it is given to no agent that can receive, or every delivery of it
// came to nothing before anyone consumed it.
#include "rules/rule.h"
#include "rules/text.h"

namespace digd {

namespace {

class orphaned_event final : public rule {
 public:
  static constexpr rule_doc about{
      .code = "OE",
      .summary = "Work reaches no agent that can still consume it.",
      .problem = "Its sender believes it delegated; nobody works on it, and nobody will notice.",
      .example =
          "The planner sends a subtask to \"reviewer\", who is not part of the run; or every recipient discards "
          "an event and none consumes it.",
      .false_positives =
          "Notices that ask nothing of anybody: mark them as fyi. With an open roster whoever is named "
          "joins, so that a misspelt name is not noticed: give the agents in hello.",
      .cleared = "The event is consumed.",
      .advice = "check the names agents address, and what they discard",
      .source = "DIG to Heal, Table 1, Reachability and Termination: Orphaned event",
  };

  constexpr orphaned_event()
      : rule(rule_id::orphaned_event, digd::severity::failure, action::reroute,
             {.window = scope::event, .attempts = scope::event, .returns = true, .place = place_kind::evidence},
             about) {}

  rule_settings defaults() const override { return {.window_ms = 5'000, .max_attempts = 3}; }

  void judge(const graph::graph& g, const blocked_event& b, const rule_settings&, evidence_cache&,
             std::vector<finding>& found) const override {
    if (g.event(b.event).submit) return;
    for (const graph::agent_index a : b.to) {
      g.count_visited(1);
      if (g.agent(a).in_roster) return;
    }
    found.push_back({.event = b.event, .agents = b.to});
  }

  bool holds(const graph::graph& g, graph::event_index e) const override {
    const graph::event_node& node = g.event(e);
    return node.is_work() && node.pending == 0 && !node.consumed && node.open_inputs == 0 && !node.has_unknown &&
           !node.settled && !node.is_withdrawn;
  }

  finding fire(const graph::graph& g, graph::event_index e) const override {
    finding f{.event = e};
    for (const graph::delivery& d : g.event(e).deliveries) f.agents.push_back(d.agent);
    return f;
  }

  void targets(const graph::graph& g, const finding& f, std::vector<graph::agent_index>& to) const override {
    if (g.event(f.event).source_agent != graph::nobody) to.push_back(g.event(f.event).source_agent);
  }

  std::string reason(const graph::graph& g, const finding& f) const override {
    if (f.agents.empty()) return "The event " + text::event(g, f.event) + " is addressed to nobody.";
    return "The event " + text::event(g, f.event) + " reaches nobody: it was given to " + text::agents(g, f.agents) +
           ", and no agent can consume it any more.";
  }

  std::string_view text() const override {
    return "Your event {event} reached nobody (it was given to {agents}), so it is back with you. Agents that can "
           "receive: {roster}. Send it to one of them or handle it yourself. If it is no longer needed, consume it.";
  }

  text_facts facts(const graph::graph& g, const finding& f) const override {
    return {{"event", text::event(g, f.event)}, {"agents", text::agents(g, f.agents)}, {"roster", text::roster(g)}};
  }

  graph::witness_names witness(const graph::graph& g, const finding& f) const override {
    graph::witness_names names{.events = {f.event}};
    if (g.event(f.event).source != graph::nobody) names.activations.push_back(g.event(f.event).source);
    for (const graph::activation_index v : g.event(f.event).inputs_of) {
      if (names.activations.size() >= graph::max_witness_nodes) break;
      names.activations.push_back(v);
    }
    return names;
  }

  watch_state progress(const graph::graph& g, watched& w, const run_progress&) const override {
    const graph::event_node* e = g.resolve(w.event);
    return e != nullptr && e->consumed ? watch_state::cleared : watch_state::open;
  }
};

}  // namespace

const rule& orphaned_event_rule() {
  static const orphaned_event instance;
  return instance;
}

}  // namespace digd
