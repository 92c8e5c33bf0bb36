// Missing termination (MC). All work is done, nobody is active, and nobody submits.
#include "rules/rule.h"
#include "rules/text.h"

namespace digd {

namespace {

class missing_termination final : public rule {
 public:
  static constexpr rule_doc about{
      .code = "MC",
      .summary =
          "No work is reachable, some activation has ended, and for window_ms nobody has been active or submitted.",
      .problem = "The run has its results and hangs, because no agent submits them.",
      .example = "The tester consumes the last result and writes nothing: each agent expects another to submit.",
      .false_positives = "A service that idles between problems: give each problem a run, or end the run.",
      .cleared = "A submit event is let through.",
      .advice = "name who has to submit",
      .source = "DIG to Heal, Table 1, Reachability and Termination: Missing termination",
  };

  constexpr missing_termination()
      : rule(rule_id::missing_termination, digd::severity::failure, action::create,
             {.window = scope::run, .attempts = scope::run, .returns = true}, about) {}

  rule_settings defaults() const override { return {.window_ms = 10'000, .max_attempts = 3}; }

  bool holds(const graph::graph& g, graph::event_index) const override {
    return g.active_count() == 0 && g.reachable().empty() && g.ended_since_gap();
  }

  finding fire(const graph::graph& g, graph::event_index) const override { return {.agent = g.last_ended_agent()}; }

  void targets(const graph::graph&, const finding& f, std::vector<graph::agent_index>& to) const override {
    if (f.agent != graph::nobody) to.push_back(f.agent);
  }

  std::string reason(const graph::graph& g, const finding& f) const override {
    return "All work is done, nobody is active, and no answer was submitted; the last to act was agent " +
           text::agent(g, f.agent) + ".";
  }

  std::string_view text() const override {
    return "To agent {agent}: all reachable work is exhausted and nobody is working, but no final answer was "
           "submitted. You were the last to act: put the results together and submit the final answer now, or send out "
           "what is still missing.";
  }

  text_facts facts(const graph::graph& g, const finding& f) const override {
    return {{"agent", text::agent(g, f.agent)}};
  }

  graph::witness_names witness(const graph::graph& g, const finding&) const override {
    graph::witness_names names;
    const graph::activation_index last = g.last_ended();
    if (last == graph::nobody) return names;
    names.subject = last;
    for (const graph::activation_input& input : g.activation(last).inputs) {
      if (names.events.size() >= graph::max_witness_nodes) break;
      if (g.resolve(input.event) != nullptr) names.events.push_back(input.event.index);
    }
    return names;
  }

  watch_state progress(const graph::graph&, watched&, const run_progress& p) const override {
    return p.submitted ? watch_state::cleared : watch_state::open;
  }
};

}  // namespace

const rule& missing_termination_rule() {
  static const missing_termination instance;
  return instance;
}

}  // namespace digd
