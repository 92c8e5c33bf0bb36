// The guard `budget`. A run, or an agent, has spent more than its limit.
#include <algorithm>
#include <array>

#include "rules/guards/guard_texts.h"
#include "rules/guards/guard_view.h"
#include "rules/guards/limits_passed.h"
#include "rules/rule.h"
#include "rules/text.h"

namespace digd {

namespace {

std::string amount(total_kind kind, std::uint64_t value) {
  return kind == total_kind::cost ? decimal_of_millionths(value) : std::to_string(value);
}

std::string measured_of(const guard_settings& s, const spent_totals& totals, std::uint8_t limits) {
  std::string out;
  for (std::size_t i = 0; i < total_count; ++i) {
    if ((limits >> i & 1U) == 0) continue;
    const auto kind = static_cast<total_kind>(i);
    if (!out.empty()) out += ", ";
    out.append(limit_name(kind)).append(" ").append(amount(kind, *s.budget[i]));
    out.append(" (spent ").append(amount(kind, totals[i])).append(")");
  }
  return out;
}

class budget final : public rule {
 public:
  static constexpr rule_doc about{
      .code = "BU",
      .summary = "A run or an agent has spent more than its limit, or comes close to it.",
      .problem = "An agent system has no natural end of spending; each further message costs money.",
      .example = "A planner delegates the same research again and again, until the day's money is gone.",
      .false_positives = "A limit below what a healthy run needs: `digctl guards suggest` learns one from past runs.",
      .cleared = "An answer is delivered.",
      .advice = "raise the limit, or find out what the agents spend on",
      .source = "digd (docs/guards.md)",
  };

  static constexpr std::array<guard_option, 8> own_options{{
      {limit_name(total_kind::tokens), total_limit{total_kind::tokens}, "Input and output tokens."},
      {limit_name(total_kind::cost), cost_limit{}, "The most that a run, or an agent, may cost, in your own currency."},
      {limit_name(total_kind::model_calls), total_limit{total_kind::model_calls}, "Model calls."},
      {limit_name(total_kind::tool_calls), total_limit{total_kind::tool_calls}, "Tool calls."},
      {limit_name(total_kind::activations), total_limit{total_kind::activations}, "Activations started."},
      {limit_name(total_kind::ms), total_limit{total_kind::ms},
       "Time since the run's first message, or the agent's first activation. Milliseconds."},
      {"per", scope_option{&guard_settings::per, &guards_request::per}, "Whose totals are limited."},
      {"warn_at", share_option{&guard_settings::warn_at, &guards_request::warn_at},
       "The share of a limit at which each sender is warned once."},
  }};

  constexpr budget()
      : rule(rule_id::budget, digd::severity::failure, action::none,
             {.recurs = recurrence::same_agent, .counts = guard_count_kind::spending, .drops_after_returns = true},
             about) {}

  rule_settings defaults() const override { return {}; }

  std::span<const guard_option> options() const override { return own_options; }

  bool is_on(const guard_settings& s) const override {
    return std::any_of(s.budget.begin(), s.budget.end(), [](const auto& limit) { return limit.has_value(); });
  }

  void judge(const graph::graph&, const blocked_event& b, const rule_settings&, evidence_cache&,
             std::vector<finding>& found) const override {
    const guard_view& v = *b.guards;
    const graph::agent_index spender = v.settings.per == budget_scope::agent ? v.sender : graph::nobody;
    if (v.settings.per == budget_scope::agent && v.sender == graph::nobody) return;
    const spent_totals totals = v.spent.guarded(spender, v.now);
    std::uint8_t limits = limits_passed(v.settings, totals);
    const bool warns = limits == 0;
    if (warns && v.sender != graph::nobody) limits = limits_reached(v.settings, totals) & ~v.spent.warned(v.sender);
    if (limits == 0) return;
    found.push_back({.event = b.event,
                     .agent = spender,
                     .limits = names_of(limits),
                     .warning = warns,
                     .sender = v.sender,
                     .measured = measured_of(v.settings, totals, limits)});
  }

  std::string reason(const graph::graph& g, const finding& f) const override {
    const std::string subject = f.agent == graph::nobody ? "The run" : "Agent " + text::agent(g, f.agent);
    return subject + (f.warning ? " comes close to its budget: " : " is over its budget: ") + f.measured + ".";
  }

  std::string_view text() const override { return "{who} {state}: {limits}. {consequence} {advice}"; }

  text_facts facts(const graph::graph& g, const finding& f) const override {
    return {
        {"who", f.agent == graph::nobody ? "This run" : "You"},
        {"state", f.warning ? "will soon have spent the budget" : "spent more than the budget"},
        {"limits", f.measured},
        {"consequence", consequence(g, f)},
        {"advice", advice_unless_cancelled(
                       f, "Delegate nothing new. Finish with what is there, and submit the best answer you have.")}};
  }

  graph::witness_names witness(const graph::graph& g, const finding& f) const override { return guard_witness(g, f); }

  watch_state progress(const graph::graph&, watched&, const run_progress& p) const override {
    return p.submitted ? watch_state::cleared : watch_state::open;
  }
};

}  // namespace

const rule& budget_rule() {
  static const budget instance;
  return instance;
}

}  // namespace digd
