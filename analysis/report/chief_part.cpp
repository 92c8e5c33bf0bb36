#include <fmt/format.h>

#include "analysis/chief/attribute.h"
#include "analysis/chief/trace_log.h"
#include "analysis/report/chief_suspects.h"
#include "analysis/report/hierarchy_picture.h"
#include "analysis/report/parts.h"
#include "report/words.h"

namespace digd::report {

namespace {

constexpr std::size_t max_suspects = 8, max_subtasks = 30, max_blamed = 3;

std::string confidence_text(const chief::suspect& s) {
  return s.proven ? "proven" : fmt::format("{:.0f} %", 100 * s.probability);
}

std::string list_of(const chief::flat_log& log, const std::vector<std::size_t>& steps) {
  constexpr std::size_t max_listed = 6;
  std::string out;
  for (std::size_t i = 0; i < std::min(steps.size(), max_listed); ++i)
    out += (i > 0 ? ", " : "") + short_name(step_name(log, steps[i]), 40);
  return steps.size() > max_listed ? out + ", …" : out;
}

table suspects_of(const chief::flat_log& log, const chief::attribution& a) {
  table out{.caption = "Suspects, most suspect first",
            .columns = {{"rank"}, {"step"}, {"agent"}, {"event"}, {"probability", true}, {"decided by"}, {"because"}},
            .rows = {},
            .left_out = {}};
  for (std::size_t i = 0; i < std::min(a.ranking.size(), max_suspects); ++i) {
    const chief::suspect& s = a.ranking[i];
    std::string because;
    for (const chief::evidence& e : s.chain) because += (because.empty() ? "" : "; ") + e.says;
    out.rows.push_back({std::to_string(i + 1), std::to_string(s.step), short_name(s.agent, 60),
                        short_name(log.steps[s.step].event, 60), confidence_text(s),
                        std::string(to_string(s.decided_by)), short_name(because, 300)});
  }
  if (a.ranking.size() > max_suspects)
    out.left_out = fmt::format("The first {} of {} steps that can be blamed.", max_suspects, a.ranking.size());
  return out;
}

table subtasks_of(const chief::flat_log& log, const chief::attribution& a) {
  table out{.caption = "Subtasks and their virtual oracles, last first: the order of backtracking",
            .columns = {{"subtask"}, {"steps"}, {"goal"}, {"falls short"}, {"discrepant agents"}},
            .rows = {},
            .left_out = {}};
  for (std::size_t k = a.graph.subtasks.size(); k-- > 0 && out.rows.size() < max_subtasks;) {
    std::string agents, unmet;
    for (const auto& [task, agent] : a.back.agents) {
      if (task == k) agents += (agents.empty() ? "" : ", ") + short_name(agent);
    }
    for (const std::string& text : a.back.verdicts[k].unmet) unmet += (unmet.empty() ? "" : "; ") + text;
    out.rows.push_back({short_name(a.graph.subtasks[k].name, 60), list_of(log, a.graph.subtasks[k].steps),
                        short_name(a.back.oracles[k].goal, 160),
                        a.back.verdicts[k].fails ? "✗ " + short_name(unmet, 240) : "no",
                        agents.empty() ? "–" : agents});
  }
  if (a.graph.subtasks.size() > max_subtasks)
    out.left_out = fmt::format("The last {} of {} subtasks.", max_subtasks, a.graph.subtasks.size());
  return out;
}

void tell(part& out, const chief::flat_log& log, const chief::attribution& a, const observed& seen) {
  const chief::suspect& top = a.ranking[a.lead];
  out.blocks.push_back(block::words(
      "The decisive error is the earliest step that would have saved the run, had its agent done it right."));
  block answer = block::words(
      fmt::format("Of {}, it is most likely step {}, {} of agent {}: {}.", counted(log.steps.size(), "step", "steps"),
                  top.step, short_name(step_name(log, top.step)), short_name(top.agent), confidence_text(top)));
  answer.ranks = true;
  out.blocks.push_back(std::move(answer));
  if (seen.ended == run_outcome::success)
    out.blocks.push_back(block::remark(
        "The run succeeded. CHIEF assumes a run that failed, so read this as where the run was weakest."));
  if (!top.proven)
    out.blocks.push_back(
        block::words("The log itself proves nothing. Trained weights over what the steps show give the probabilities, "
                     "calibrated on other logs (docs/chief.md)."));
  out.blocks.push_back(block::of(draw_hierarchy(log, a)));
  block suspects = block::of(suspects_of(log, a));
  suspects.ranks = true;
  out.blocks.push_back(std::move(suspects));
  out.blocks.push_back(block::of(subtasks_of(log, a)));
  if (log.left_out > 0)
    out.blocks.push_back(block::remark(fmt::format("{} lines that digd would refuse are left out.", log.left_out)));
}

}  // namespace

part chief_part(const trace_text& trace, const observed& seen, const std::string& subject,
                const part_options& options) {
  part out{.id = "decisive-error",
           .name = "CHIEF",
           .title = "CHIEF: the decisive error",
           .command = "digctl attribute chief " + subject};
  if (options.budget_seconds <= 0) out.not_run_reason = "it was not requested (--budget 0).";
  else if (seen.events > options.max_steps)
    out.not_run_reason = fmt::format("the run has {} events, and a report goes to {}.", grouped(seen.events),
                                     grouped(options.max_steps));
  if (!out.not_run_reason.empty()) return out;
  const std::string_view text = trace();
  if (text.empty()) {
    out.not_run_reason = "the run is too long to be held in memory.";
    return out;
  }
  chief::flat_log log;
  if (std::string problem; !chief::read_trace(text, log, problem)) {
    out.not_run_reason = problem + ".";
    return out;
  }
  const chief::attribution a = chief::attribute(log);
  if (a.ranking.empty()) {
    out.not_run_reason = "there is nobody to blame, because no agent acts in it.";
    return out;
  }
  out.ran = true;
  add_suspects(out, log, a, max_suspects);
  const chief::suspect& top = a.ranking[a.lead];
  out.answer = fmt::format("CHIEF holds {} of agent {} to be the decisive error ({})",
                           short_name(step_name(log, top.step)), short_name(top.agent), confidence_text(top));
  out.json = chief::to_json(log, a, max_suspects);
  const std::string paper = "CHIEF (arXiv 2602.23701), ";
  out.origins = {
      {"subtasks, agents, steps and edges", "cut from the run's lineage and words, without a model",
       paper + "section 4.1; docs/chief.md"},
      {"falls short, discrepant", "virtual oracles judged on the log; then back from the last subtask",
       paper + "section 4.2"},
      {"proven, decided by", "counterfactual screening: contradictions on paper that nothing later puts right",
       paper + "section 4.3, eq. 1"},
      {"probability of a suspect",
       "a trained conditional logit over what steps show, calibrated by temperature; no interval",
       "docs/chief.md, The weights"}};
  tell(out, log, a, seen);
  for (std::size_t i = 0; i < std::min(a.ranking.size(), max_blamed); ++i) {
    out.blamed.push_back(
        {.activation = {},
         .event = log.steps[a.ranking[i].step].event,
         .reason = fmt::format("number {} of CHIEF's suspects ({})", i + 1, confidence_text(a.ranking[i]))});
  }
  return out;
}

}  // namespace digd::report
