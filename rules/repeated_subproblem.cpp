// Repeated subproblem (RSP). A result is announced for work from which another activation has already made a result.
#include <boost/unordered/unordered_flat_set.hpp>

#include "rules/kinds.h"
#include "rules/rule.h"
#include "rules/text.h"

namespace digd {

namespace {

class repeated_subproblem final : public rule {
 public:
  static constexpr rule_doc about{
      .code = "RSP",
      .summary =
          "A problem-reducing activation announces an output derived from work that another ended, problem-reducing "
          "activation has consumed already.",
      .problem = "The run pays twice for the same subproblem, and has two results for it.",
      .example = "Two agents solve the same subtask; digd holds the second result and names the first.",
      .false_positives =
          "Deliberate redundancy, such as votes or reviews: limit the rule to other kinds, or observe only.",
      .cleared = "The repeated result is settled and the rule has not fired again on the same work.",
      .advice = "tell agents who already works on what",
      .source = "DIG to Heal, Table 1, Progress: Repeated subproblem solving",
  };

  constexpr repeated_subproblem()
      : rule(rule_id::repeated_subproblem, digd::severity::warning, action::inject,
             {.kinds = true, .recurs = recurrence::shared_evidence}, about) {}

  rule_settings defaults() const override { return {}; }

  void judge(const graph::graph& g, const blocked_event& b, const rule_settings& s, evidence_cache& known,
             std::vector<finding>& found) const override {
    const graph::event_node& e = g.event(b.event);
    if (b.rerouted || e.submit || !e.derived || !kind_counts(e, s)) return;
    if (!g.activation(e.source).reducing()) return;
    const event_list& work = known.get(g, id, &g.activation(e.source), graph::nobody, [&] {
      const auto reduced = g.reduced_by_others(e.source);
      return std::vector<graph::event_index>(reduced.begin(), reduced.end());
    });
    if (!work.empty()) found.push_back({.event = b.event, .events = work});
  }

  std::string reason(const graph::graph& g, const finding& f) const override {
    return "The output " + text::event(g, f.event) + " of agent " + text::agent(g, g.event(f.event).source_agent) +
           " answers work that " + text::agents(g, earlier_agents(g, f)) +
           " answered already: " + text::events(g, f.events) + ".";
  }

  std::string_view text() const override {
    return "The event {event} of agent {agent} answers {work}, which {earlier} already worked on. Do not count both "
           "results: compare them, keep the better one, and repeat only the part that was wrong or missing.";
  }

  text_facts facts(const graph::graph& g, const finding& f) const override {
    return {{"event", text::event(g, f.event)},
            {"agent", text::agent(g, g.event(f.event).source_agent)},
            {"work", text::events(g, f.events)},
            {"earlier", text::agents(g, earlier_agents(g, f))}};
  }

  graph::witness_names witness(const graph::graph& g, const finding& f) const override {
    graph::witness_names names;
    names.events.push_back(f.event);
    graph::append_named(names.events, f.events.first(graph::max_witness_nodes));
    names.activations.push_back(g.event(f.event).source);
    for_each_consumer(g, f, [&](graph::activation_index v) {
      if (names.activations.size() < graph::max_witness_nodes) names.activations.push_back(v);
    });
    return names;
  }

  watch_state progress(const graph::graph& g, watched& w, const run_progress&) const override {
    const graph::event_node* e = g.resolve(w.event);
    return e == nullptr || e->settled ? watch_state::cleared : watch_state::open;
  }

 private:
  static constexpr std::size_t max_inputs_scanned = 16384;  // for one text or witness

  // Calls `each` for the earlier consumers of the listed work, up to `max_inputs_scanned`.
  template <class Each>
  static void for_each_consumer(const graph::graph& g, const finding& f, Each each) {
    std::size_t scanned = 0;
    for (const graph::event_index x : f.events.first(event_list::max_sorted)) {
      for (const graph::activation_index v : g.event(x).inputs_of) {
        if (++scanned > max_inputs_scanned) return g.count_visited(scanned);
        const graph::activation_node& other = g.activation(v);
        if (v == g.event(f.event).source || other.open || other.failed || !other.reducing()) continue;
        for (const graph::activation_input& input : other.inputs) {
          if (++scanned > max_inputs_scanned) return g.count_visited(scanned);
          if (input.event == g.ref(x) && input.reaction == reaction::consume) each(v);
        }
      }
    }
    g.count_visited(scanned);
  }

  static std::vector<graph::agent_index> earlier_agents(const graph::graph& g, const finding& f) {
    std::vector<graph::agent_index> agents;
    boost::unordered_flat_set<graph::agent_index> known;
    for_each_consumer(g, f, [&](graph::activation_index v) {
      const graph::agent_index a = g.activation(v).agent;
      if (known.insert(a).second) agents.push_back(a);
    });
    return agents;
  }
};

}  // namespace

const rule& repeated_subproblem_rule() {
  static const repeated_subproblem instance;
  return instance;
}

}  // namespace digd
