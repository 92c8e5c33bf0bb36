// Early termination (ET). A submit event is generated while some reachable work has no path to it.
#include <algorithm>
#include <map>

#include "rules/kinds.h"
#include "rules/rule.h"
#include "rules/text.h"

namespace digd {

namespace {

class early_termination final : public rule {
 public:
  static constexpr rule_doc about{
      .code = "ET",
      .summary = "Someone submits the final answer while work that the answer does not build on is still waiting.",
      .problem = "The answer leaves out what the others are still doing, and once it is out nobody will add it.",
      .example =
          "The planner splits a task in two; the coder's half is done and submitted, the tester's half still "
          "waits in the tester's buffer.",
      .false_positives =
          "Work that became obsolete but that its holder never took in; notices that are not marked as "
          "fyi. With `kinds`, only work of these kinds holds an answer back. With "
          "`skip_repeated`, work that another activation had already taken on does not.",
      .cleared =
          "None of the unresolved events is reachable work any more, or an answer was let through on which the "
          "rule did not fire.",
      .advice = "have the submitting agent check for open work first",
      .source = "DIG to Heal, Table 1, Reachability and Termination: Early termination",
  };

  constexpr early_termination()
      : rule(rule_id::early_termination, digd::severity::failure, action::reroute,
             {.kinds = true,
              .attempts = scope::run,
              .repeated = true,
              .returns = true,
              .recurs = recurrence::anywhere,
              .place = place_kind::answer},
             about) {}

  rule_settings defaults() const override { return {.max_attempts = 3}; }

  void judge(const graph::graph& g, const blocked_event& b, const rule_settings& s, evidence_cache& known,
             std::vector<finding>& found) const override {
    if (!g.event(b.event).submit) return;
    const event_list& unresolved = known.get(g, id, g.event(b.event).ancestry.get(), graph::nobody, [&] {
      std::vector<graph::event_index> events;
      g.mark_ancestors(b.event);
      g.count_visited(g.reachable().size());
      for (const graph::event_index x : g.reachable()) {
        const bool skipped = s.skip_repeated && g.event(x).repeated;
        if (!g.is_marked(x) && kind_counts(g.event(x), s) && !skipped) events.push_back(x);
      }
      return events;
    });
    if (!unresolved.empty()) found.push_back({.event = b.event, .events = unresolved});
  }

  void targets(const graph::graph& g, const finding& f, std::vector<graph::agent_index>& to) const override {
    if (g.event(f.event).source_agent != graph::nobody) to.push_back(g.event(f.event).source_agent);
  }

  std::string reason(const graph::graph& g, const finding& f) const override {
    return "The answer " + text::event(g, f.event) + " was submitted while " +
           text::count(f.events.size(), "event", "events") + " it does not build on " +
           (f.events.size() == 1 ? "is" : "are") + " unresolved: " + text::works(g, f.events) + ".";
  }

  std::string_view text() const override {
    return "Your final answer {event} was not accepted yet: {count} of work it does not build on {are} still "
           "unresolved: {work}. Most of it waits at {holder}. Your answer is back with you as ordinary work. If it "
           "lacks "
           "more than half, pass it on to that agent with your results, unless that is you. Otherwise do not just "
           "wait: "
           "delegate what is missing to free agents ({free}), and delegate it again if no result arrives. Consume what "
           "is obsolete. Submit again only when nothing is missing, with an answer that builds on this one. Count "
           "nothing twice; if your answer does, rebuild it from results that do not overlap.";
  }

  text_facts facts(const graph::graph& g, const finding& f) const override {
    return {{"event", text::event(g, f.event)},
            {"count", text::count(f.events.size(), "piece", "pieces")},
            {"are", f.events.size() == 1 ? "is" : "are"},
            {"work", text::works(g, f.events)},
            {"holder", text::agent(g, holder_of_most(g, f))},
            {"free", text::agents(g, free_agents(g, f))}};
  }

  graph::witness_names witness(const graph::graph& g, const finding& f) const override {
    graph::witness_names names;
    names.events.push_back(f.event);
    graph::append_named(names.events, f.events.first(graph::max_witness_nodes));
    for (const graph::event_index e : names.events) {
      if (names.activations.size() >= graph::max_witness_nodes) break;
      if (g.event(e).source != graph::nobody) names.activations.push_back(g.event(e).source);
    }
    names.pending_of.assign(names.events.begin() + 1, names.events.end());
    return names;
  }

  watch_state progress(const graph::graph& g, watched& w, const run_progress& p) const override {
    if (p.submitted && p.clean) return watch_state::cleared;
    while (!w.evidence.empty()) {
      const graph::event_node* x = g.resolve(w.evidence.back());
      if (x != nullptr && x->reachable()) return watch_state::open;
      w.evidence.pop_back();
    }
    return watch_state::cleared;
  }

 private:
  static constexpr std::size_t max_deliveries_visited = 4096;  // deliveries, however much is unresolved

  // The agent that holds most of the unresolved work. If several hold equally much, the one that the run named first.
  static graph::agent_index holder_of_most(const graph::graph& g, const finding& f) {
    std::map<graph::agent_index, std::size_t> held;
    std::size_t visited = 0;
    for (const graph::event_index x : f.events) {
      for (const graph::delivery& d : g.event(x).deliveries) {
        if (d.state == graph::delivery_state::pending) ++held[d.agent];
        if (++visited == max_deliveries_visited) break;
      }
      if (visited == max_deliveries_visited) break;
    }
    g.count_visited(visited);
    const auto busiest =
        std::max_element(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return busiest == held.end() ? graph::nobody : busiest->first;
  }

  // The other agents without an open activation. The first `max_listed` are sorted by how little they hold.
  static std::vector<graph::agent_index> free_agents(const graph::graph& g, const finding& f) {
    std::vector<graph::agent_index> agents;
    g.count_visited(g.agent_count());
    for (graph::agent_index a = 0; a < g.agent_count(); ++a) {
      const graph::agent_node& member = g.agent(a);
      if (member.in_roster && member.open.empty() && a != g.event(f.event).source_agent) agents.push_back(a);
    }
    const auto end_of_listed = agents.begin() + static_cast<std::ptrdiff_t>(std::min(agents.size(), text::max_listed));
    std::partial_sort(agents.begin(), end_of_listed, agents.end(), [&](graph::agent_index a, graph::agent_index b) {
      const graph::agent_node &left = g.agent(a), &right = g.agent(b);
      return std::make_pair(left.pending.size(), std::string_view(left.name)) <
             std::make_pair(right.pending.size(), std::string_view(right.name));
    });
    return agents;
  }
};

}  // namespace

const rule& early_termination_rule() {
  static const early_termination instance;
  return instance;
}

}  // namespace digd
