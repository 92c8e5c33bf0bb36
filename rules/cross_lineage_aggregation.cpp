// Cross-lineage aggregation (CLA). An agent is about to hold work from two decompositions that share no origin.
#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>

#include "rules/kinds.h"
#include "rules/rule.h"
#include "rules/text.h"

namespace digd {

namespace {

bool pending_at(const graph::graph& g, graph::event_ref ref, graph::agent_index a) {
  return g.resolve(ref) != nullptr && g.is_pending(ref.index, a);
}

bool consumed_by(const graph::activation_node& v, graph::event_ref event) {
  return std::any_of(v.inputs.begin(), v.inputs.end(), [&](const graph::activation_input& input) {
    return input.event == event && input.reaction == reaction::consume;
  });
}

// The work that the agent holds and whose lineage shares no generator with `from`. Compares each lineage once, even if
// the agent holds many events of it.
std::vector<graph::event_index> held_of_others(const graph::graph& g, const graph::generators& from,
                                               graph::agent_index a, const rule_settings& s) {
  std::vector<graph::event_index> clashing;
  boost::unordered_flat_set<const graph::generator_set*> others;
  for (const graph::pending_lineage& held : g.agent(a).lineages) {
    if (g.work_is_used_up()) return clashing;
    g.count_visited(1 + graph::cost_of_union(from, held.from));
    if (graph::disjoint(from, held.from)) others.insert(held.from.get());
  }
  if (others.empty()) return clashing;
  g.count_visited(g.agent(a).pending.size());
  for (const graph::event_index x : g.agent(a).pending) {
    const graph::event_node& other = g.event(x);
    if (other.is_work() && kind_counts(other, s) && others.contains(other.generators.get())) clashing.push_back(x);
  }
  return clashing;
}

// The ordinal of the first generator in the lineage of `e`; 0 if it has none.
std::uint64_t beginning(const graph::graph& g, graph::event_index e) {
  const graph::generators& from = g.event(e).generators;
  return from && !from->members.empty() ? from->members.front()->ordinal : 0;
}

class cross_lineage_aggregation final : public rule {
 public:
  static constexpr rule_doc about{
      .code = "CLA",
      .summary = "An agent is given work while it holds other work; both have generators, and none in common.",
      .problem =
          "Halves of different decompositions do not fit together: aggregated, they count things twice or miss them.",
      .example =
          "Two agents split the same list in different ways; the aggregator gets two parts of the one split and "
          "one part of the other.",
      .false_positives =
          "Agents that work on several unrelated problems in one run: give each problem a run, or limit the "
          "rule to the kinds of event that are aggregated.",
      .cleared =
          "The agent has dealt with the event or with all that clashed with it, and no single activation of it "
          "consumed both.",
      .advice = "keep parts of different problems apart",
      .source = "DIG to Heal, Table 1, Progress: Cross-lineage aggregation",
  };

  constexpr cross_lineage_aggregation()
      : rule(rule_id::cross_lineage_aggregation, digd::severity::warning, action::inject, {.kinds = true}, about) {}

  rule_settings defaults() const override { return {}; }

  void judge(const graph::graph& g, const blocked_event& b, const rule_settings& s, evidence_cache& known,
             std::vector<finding>& found) const override {
    const graph::event_node& e = g.event(b.event);
    if (e.submit || !e.generators || !kind_counts(e, s)) return;
    for (const graph::agent_index a : b.to) {
      if (!g.agent(a).in_roster) continue;
      const event_list& clashing =
          known.get(g, id, e.generators.get(), a, [&] { return held_of_others(g, e.generators, a, s); });
      if (!clashing.empty()) found.push_back({.event = b.event, .agent = a, .events = clashing});
      if (g.work_is_used_up()) return;
    }
  }

  std::string reason(const graph::graph& g, const finding& f) const override {
    return "Agent " + text::agent(g, f.agent) + " is given " + text::event(g, f.event) + " while it holds " +
           text::count(f.events.size(), "event", "events") + " of " +
           (f.events.has_one_lineage() ? "another lineage: " : "other lineages: ") + text::events(g, f.events) + ".";
  }

  std::string_view text() const override {
    return "To agent {agent}: the event {event} comes from {origin}. You also hold {work} of another "
           "decomposition ({other_origin}). Do not combine them as if they were parts of one whole: check what each "
           "covers, and answer them separately. If both divide the same problem, keep the older division: consume the "
           "parts of the younger one ({younger}) without working on them.";
  }

  text_facts facts(const graph::graph& g, const finding& f) const override {
    return {{"agent", text::agent(g, f.agent)},    {"event", text::event(g, f.event)},
            {"origin", text::origins(g, f.event)}, {"work", text::events(g, f.events)},
            {"other_origin", other_origins(g, f)}, {"younger", text::events(g, younger(g, f))}};
  }

  graph::witness_names witness(const graph::graph& g, const finding& f) const override {
    graph::witness_names names;
    names.events.push_back(f.event);
    graph::append_named(names.events, f.events.first(graph::max_witness_nodes));
    for (const graph::event_index e : names.events) {
      if (names.activations.size() >= graph::max_witness_nodes) break;
      if (g.event(e).source != graph::nobody) names.activations.push_back(g.event(e).source);
      if (!g.event(e).generators || g.event(e).generators->members.empty()) continue;
      const graph::generator& origin = *g.event(e).generators->members.front();
      const graph::activation_index v = g.find_activation(origin.activation);
      if (v != graph::nobody && g.activation(v).ordinal == origin.ordinal) names.activations.push_back(v);
    }
    names.pending_of = names.events;
    return names;
  }

  watch_state progress(const graph::graph& g, watched& w, const run_progress&) const override {
    const bool holds_event = pending_at(g, w.event, w.agent);
    const bool holds_other = std::any_of(w.evidence.begin(), w.evidence.end(),
                                         [&](graph::event_ref x) { return pending_at(g, x, w.agent); });
    if (holds_event && holds_other) return watch_state::open;
    const graph::event_node* e = g.resolve(w.event);
    if (e == nullptr) return watch_state::cleared;
    for (const graph::activation_index i : e->inputs_of) {
      const graph::activation_node& v = g.activation(i);
      if (v.agent != w.agent || !consumed_by(v, w.event)) continue;
      const bool mixed =
          std::any_of(w.evidence.begin(), w.evidence.end(), [&](graph::event_ref x) { return consumed_by(v, x); });
      if (mixed) return watch_state::recurred;
    }
    return watch_state::cleared;
  }

 private:
  static constexpr std::size_t max_younger_scanned = 1024;

  // The origins of the clashing events if they share one lineage; otherwise each event with its origins.
  static std::string other_origins(const graph::graph& g, const finding& f) {
    if (f.events.empty()) return {};
    return f.events.has_one_lineage() ? text::origins(g, f.events.front()) : text::events_with_origins(g, f.events);
  }

  // The event and the events it clashes with, without those of the oldest lineage. Never empty: ordinals are unique.
  static std::vector<graph::event_index> younger(const graph::graph& g, const finding& f) {
    const auto clashing = f.events.first(max_younger_scanned);
    g.count_visited(clashing.size());
    std::vector<graph::event_index> events{f.event};
    events.insert(events.end(), clashing.begin(), clashing.end());
    std::uint64_t oldest = beginning(g, f.event);
    for (const graph::event_index x : events) oldest = std::min(oldest, beginning(g, x));
    std::erase_if(events, [&](graph::event_index x) { return beginning(g, x) == oldest; });
    return events;
  }
};

}  // namespace

const rule& cross_lineage_aggregation_rule() {
  static const cross_lineage_aggregation instance;
  return instance;
}

}  // namespace digd
