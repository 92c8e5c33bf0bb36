// The guard `repetition`. An agent repeatedly sends the same content to the same agents.
#include <array>

#include "rules/guards/guard_texts.h"
#include "rules/guards/guard_view.h"
#include "rules/rule.h"
#include "rules/text.h"

namespace digd {

namespace {

class repetition final : public rule {
 public:
  static constexpr rule_doc about{
      .code = "RE",
      .summary = "An agent sends the same content to the same recipients more than max_repeats times.",
      .problem = "A model in a loop repeats an identical call until its budget ends, and learns nothing from it.",
      .example = "The coder asks the tester to run the same command fifty times, each time with the same error.",
      .false_positives = "Polling on purpose: raise max_repeats, or give such events fingerprints of their own.",
      .cleared = "An answer is delivered.",
      .advice = "tell the agent the result of its earlier calls, and when to give up",
      .source = "digd (docs/guards.md)",
  };

  static constexpr std::array<guard_option, 2> own_options{{
      {"max_repeats", count_limit{&guard_settings::max_repeats, &guards_request::max_repeats},
       "How often an agent may send the same content to the same recipients among its last outputs."},
      {"window", count_option{{&guard_settings::window, &guards_request::window}, max_repetition_window},
       "How many of its last outputs count."},
  }};

  constexpr repetition()
      : rule(rule_id::repetition, digd::severity::warning, action::none,
             {.recurs = recurrence::same_agent, .counts = guard_count_kind::repeats, .judges_fyi = true}, about) {}

  rule_settings defaults() const override { return {}; }

  std::span<const guard_option> options() const override { return own_options; }

  bool is_on(const guard_settings& s) const override { return s.max_repeats.has_value(); }

  void judge(const graph::graph& g, const blocked_event& b, const rule_settings&, evidence_cache&,
             std::vector<finding>& found) const override {
    const guard_view& v = *b.guards;
    if (b.rerouted || v.sender == graph::nobody) return;
    g.count_visited(1);
    const std::size_t count = v.outputs.count(v.sender);
    if (count <= *v.settings.max_repeats) return;
    g.count_visited(v.settings.window);
    found.push_back({.event = b.event,
                     .agent = v.sender,
                     .ids = v.outputs.earlier(v.sender),
                     .limits = {"max_repeats"},
                     .sender = v.sender,
                     .measured = text::count(count, "time", "times")});
  }

  std::string reason(const graph::graph& g, const finding& f) const override {
    return "Agent " + text::agent(g, f.agent) + " sent the content of " + text::event(g, f.event) +
           " to the same recipients " + f.measured + " lately.";
  }

  std::string_view text() const override {
    return "You sent the same content to the same recipients {times} lately. {consequence} {advice}";
  }

  text_facts facts(const graph::graph& g, const finding& f) const override {
    return {{"times", f.measured},
            {"consequence", consequence(g, f)},
            {"advice", advice_unless_cancelled(f,
                                               "Repeating it will not change the result: look at the answers you have, "
                                               "try something else, or say why you cannot go on.")}};
  }

  graph::witness_names witness(const graph::graph& g, const finding& f) const override {
    graph::witness_names names = guard_witness(g, f);
    for (const std::string& id : f.ids) {
      if (names.events.size() >= graph::max_witness_nodes) break;
      if (const graph::event_index e = g.find_event(id); e != graph::nobody && e != f.event) names.events.push_back(e);
    }
    return names;
  }

  watch_state progress(const graph::graph&, watched&, const run_progress& p) const override {
    return p.submitted ? watch_state::cleared : watch_state::open;
  }
};

}  // namespace

const rule& repetition_rule() {
  static const repetition instance;
  return instance;
}

}  // namespace digd
