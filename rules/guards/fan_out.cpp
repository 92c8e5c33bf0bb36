// The guard `fan_out`. Work multiplies: it descends too deep, one activation sends too much, or too much is in flight.
#include <array>

#include "rules/guards/guard_texts.h"
#include "rules/guards/guard_view.h"
#include "rules/rule.h"
#include "rules/text.h"

namespace digd {

namespace {

class fan_out final : public rule {
 public:
  static constexpr rule_doc about{
      .code = "FO",
      .summary = "Work descends too deep, an activation sends too much of it, or too much of it is in flight.",
      .problem = "A team that delegates to teams that delegate grows without end; each member costs model calls.",
      .example = "Every researcher splits its question into five and starts five more researchers.",
      .false_positives = "Large but healthy teams: `digctl guards suggest` learns limits from past runs.",
      .cleared = "An answer is delivered.",
      .advice = "let fewer agents delegate, and let them delegate less",
      .source = "digd (docs/guards.md)",
  };

  static constexpr std::array<guard_option, 3> own_options{{
      {"max_depth", count_limit{&guard_settings::max_depth, &guards_request::max_depth},
       "Generations that an event may descend from."},
      {"max_outputs", count_limit{&guard_settings::max_outputs, &guards_request::max_outputs},
       "Outputs that are work, of one activation."},
      {"max_live", count_limit{&guard_settings::max_live, &guards_request::max_live},
       "Pieces of work in flight in a run."},
  }};

  constexpr fan_out()
      : rule(rule_id::fan_out, digd::severity::warning, action::none,
             {.recurs = recurrence::same_agent, .place = place_kind::delivery}, about) {}

  rule_settings defaults() const override { return {}; }

  std::span<const guard_option> options() const override { return own_options; }

  bool is_on(const guard_settings& s) const override { return s.max_depth || s.max_outputs || s.max_live; }

  void judge(const graph::graph& g, const blocked_event& b, const rule_settings&, evidence_cache& known,
             std::vector<finding>& found) const override {
    if (b.rerouted) return;
    const guard_view& v = *b.guards;
    const graph::event_node& e = g.event(b.event);
    finding f{.event = b.event, .agent = v.sender, .sender = v.sender};
    const auto compare = [&](std::string_view limit, const std::optional<std::uint64_t>& max_count, std::uint64_t count,
                             std::string_view before, std::string_view after) {
      if (!max_count || count <= *max_count) return;
      if (!f.limits.empty()) f.measured += ", ";
      f.limits.push_back(limit);
      f.measured.append(limit).append(" ").append(std::to_string(*max_count)).append(" (").append(before);
      f.measured.append(std::to_string(count)).append(after).append(")");
    };
    compare("max_depth", v.settings.max_depth, e.depth, "its depth is ", "");
    if (e.source != graph::nobody)
      compare("max_outputs", v.settings.max_outputs, g.activation(e.source).work_outputs - v.later_work_outputs,
              "it is output ", " of its activation");
    compare("max_live", v.settings.max_live, g.reachable().size() - v.later_reachable, "", " events are in flight");
    if (f.limits.empty()) return;
    if (e.derived)
      f.events = known.get(g, id, &g.activation(e.source), graph::nobody, [&] { return used(g, e.source); });
    found.push_back(std::move(f));
  }

  std::string reason(const graph::graph& g, const finding& f) const override {
    return "With the event " + text::event(g, f.event) + " the work fans out too far: " + f.measured + ".";
  }

  std::string_view text() const override { return "The work fans out too far: {limits}. {consequence} {advice}"; }

  text_facts facts(const graph::graph& g, const finding& f) const override {
    return {
        {"limits", f.measured},
        {"consequence", consequence(g, f)},
        {"advice", advice_unless_cancelled(
                       f, "Delegate less: do this part yourself, or finish what is open before you hand out more.")}};
  }

  graph::witness_names witness(const graph::graph& g, const finding& f) const override { return guard_witness(g, f); }

  watch_state progress(const graph::graph&, watched&, const run_progress& p) const override {
    return p.submitted ? watch_state::cleared : watch_state::open;
  }

 private:
  // What the outputs of `v` are derived from.
  static std::vector<graph::event_index> used(const graph::graph& g, graph::activation_index v) {
    std::vector<graph::event_index> events;
    const graph::activation_node& source = g.activation(v);
    g.count_visited(source.inputs.size());
    for (const graph::activation_input& input : source.inputs) {
      if (source.uses(input) && g.resolve(input.event) != nullptr) events.push_back(input.event.index);
    }
    return events;
  }
};

}  // namespace

const rule& fan_out_rule() {
  static const fan_out instance;
  return instance;
}

}  // namespace digd
