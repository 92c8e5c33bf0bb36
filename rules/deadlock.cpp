// Deadlock (DL). Work waits, and nobody is active.
#include "rules/rule.h"
#include "rules/text.h"

namespace digd {

namespace {

class deadlock final : public rule {
 public:
  static constexpr rule_doc about{
      .code = "DL",
      .summary = "Reachable work remains and for window_ms no activation has been active.",
      .problem = "Every agent waits for another; without a push nothing will ever happen again.",
      .example = "The coder waits for the tester's cases, the tester for the coder's build; both events stay pending.",
      .false_positives =
          "A pause by design, such as waiting for a person: raise window_ms. Agents that start late after a "
          "delivery: the window has to be longer than their usual delay.",
      .cleared = "Some of the work that was waiting is not pending any more.",
      .advice = "break circular waits: let one agent go first",
      .source = "DIG to Heal, Table 1, Reachability and Termination: Deadlock",
  };

  constexpr deadlock()
      : rule(rule_id::deadlock, digd::severity::failure, action::create, {.window = scope::run, .attempts = scope::run},
             about) {}

  rule_settings defaults() const override { return {.window_ms = 10'000, .max_attempts = 3}; }

  bool holds(const graph::graph& g, graph::event_index) const override {
    return g.active_count() == 0 && !g.reachable().empty();
  }

  finding fire(const graph::graph& g, graph::event_index) const override {
    return {.events = event_list(g, g.reachable())};
  }

  void targets(const graph::graph& g, const finding&, std::vector<graph::agent_index>& to) const override {
    to = g.roster();
  }

  std::string reason(const graph::graph& g, const finding& f) const override {
    return "Nobody is active while " + text::count(f.events.size(), "event waits", "events wait") + ": " +
           text::works(g, f.events) + ".";
  }

  std::string_view text() const override {
    return "Nobody is working, but {count}: {work}. Every agent seems to wait for another. If one of these events is "
           "with you, act on it now with what you have: handle it, or pass it to whoever can.";
  }

  text_facts facts(const graph::graph& g, const finding& f) const override {
    return {{"count", text::count(f.events.size(), "event is unresolved", "events are unresolved")},
            {"work", text::works(g, f.events)}};
  }

  graph::witness_names witness(const graph::graph& g, const finding& f) const override {
    graph::witness_names names;
    graph::append_named(names.events, f.events.first(graph::max_witness_nodes + 1));
    names.pending_of = names.events;
    for (const graph::event_index e : names.events) {
      if (names.activations.size() >= graph::max_witness_nodes) break;
      if (g.event(e).source != graph::nobody) names.activations.push_back(g.event(e).source);
    }
    return names;
  }

  watch_state progress(const graph::graph& g, watched& w, const run_progress&) const override {
    for (const graph::event_ref ref : w.evidence) {
      const graph::event_node* e = g.resolve(ref);
      if (e == nullptr || !e->reachable()) return watch_state::cleared;
    }
    return watch_state::open;
  }
};

}  // namespace

const rule& deadlock_rule() {
  static const deadlock instance;
  return instance;
}

}  // namespace digd
