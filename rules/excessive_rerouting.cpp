// Excessive rerouting (ER). Agents pass an event on repeatedly, and nobody consumes it.
#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>

#include "rules/rule.h"
#include "rules/text.h"

namespace digd {

namespace {

class excessive_rerouting final : public rule {
 public:
  static constexpr rule_doc about{
      .code = "ER",
      .summary = "An event was rerouted more than max_reroutes times and nobody has consumed it.",
      .problem = "Each hand-over costs a model call and moves nothing; the work circles until somebody takes it.",
      .example =
          "The coder passes a bug report to the tester, the tester to the planner, the planner back to the coder.",
      .false_positives = "A system that routes through dispatchers on purpose: raise max_reroutes.",
      .cleared = "The event is consumed.",
      .advice = "make clear who is responsible for what",
      .source = "DIG to Heal, Table 1, Progress: Excessive rerouting",
  };

  constexpr excessive_rerouting()
      : rule(rule_id::excessive_rerouting, digd::severity::warning, action::inject, {.reroutes = true}, about) {}

  rule_settings defaults() const override { return {.max_reroutes = 2}; }

  void judge(const graph::graph& g, const blocked_event& b, const rule_settings& s, evidence_cache&,
             std::vector<finding>& found) const override {
    const graph::event_node& e = g.event(b.event);
    if (!b.rerouted || e.submit || e.consumed || e.reroute_acts <= s.max_reroutes) return;
    found.push_back({.event = b.event});
  }

  std::string reason(const graph::graph& g, const finding& f) const override {
    return "The event " + text::event(g, f.event) + " was rerouted " +
           text::count(g.event(f.event).reroute_acts, "time", "times") + " and nobody has consumed it.";
  }

  std::string_view text() const override {
    return "The event {event} was already passed on {times}, by {passers}, and nobody has handled it. Do not pass it "
           "on again: handle it now as well as you can, even if only to say why it cannot be done.";
  }

  text_facts facts(const graph::graph& g, const finding& f) const override {
    return {{"event", text::event(g, f.event)},
            {"times", text::count(g.event(f.event).reroute_acts, "time", "times")},
            {"passers", passers(g, f.event)}};
  }

  graph::witness_names witness(const graph::graph& g, const finding& f) const override {
    graph::witness_names names{.events = {f.event}, .pending_of = {f.event}};
    if (g.event(f.event).source != graph::nobody) names.activations.push_back(g.event(f.event).source);
    for_each_pass(g, f.event, [&](graph::activation_index v) {
      if (names.activations.size() < graph::max_witness_nodes) names.activations.push_back(v);
    });
    return names;
  }

  watch_state progress(const graph::graph& g, watched& w, const run_progress&) const override {
    const graph::event_node* e = g.resolve(w.event);
    return e != nullptr && e->consumed ? watch_state::cleared : watch_state::open;
  }

 private:
  static constexpr std::size_t max_inputs_scanned = 4096;  // for one text or witness

  // Calls `each` for the activations that passed the event on, oldest first. False: the limit left some out.
  template <class Each>
  static bool for_each_pass(const graph::graph& g, graph::event_index e, Each each) {
    std::size_t scanned = 0;
    const auto ends_search = [&](const graph::activation_input& input) {
      return ++scanned > max_inputs_scanned || input.event == g.ref(e);
    };
    for (const graph::activation_index v : g.event(e).inputs_of) {
      const auto& inputs = g.activation(v).inputs;
      const auto* const found = std::find_if(inputs.begin(), inputs.end(), ends_search);
      if (scanned > max_inputs_scanned) break;
      if (found != inputs.end() && found->reaction == reaction::reroute) each(v);
    }
    g.count_visited(scanned);
    return scanned <= max_inputs_scanned;
  }

  // The agents that passed the event on, each once, in order of their first pass.
  static std::string passers(const graph::graph& g, graph::event_index e) {
    std::vector<graph::agent_index> agents;
    boost::unordered_flat_set<graph::agent_index> known;
    const bool knows_all = for_each_pass(g, e, [&](graph::activation_index v) {
      const graph::agent_index a = g.activation(v).agent;
      if (known.insert(a).second) agents.push_back(a);
    });
    if (knows_all) return text::agents(g, agents);
    return agents.empty() ? "several agents" : text::agents(g, agents) + " and others";
  }
};

}  // namespace

const rule& excessive_rerouting_rule() {
  static const excessive_rerouting instance;
  return instance;
}

}  // namespace digd
