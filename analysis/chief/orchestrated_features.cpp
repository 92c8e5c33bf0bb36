// Evaluators for runs in which a planner instructs executors.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "analysis/chief/features.h"
#include "analysis/chief/text.h"
#include "base/text.h"

namespace digd::chief {

namespace {

#define FEATURE(name, by, weighs, means, says) s_##name,
enum step_feature : std::size_t {
#include "analysis/chief/orchestrated_features.inc"
  step_feature_count
};
#undef FEATURE
#define FEATURE(name, by, weighs, means, says) a_##name,
enum agent_feature : std::size_t {
#include "analysis/chief/agent_features.inc"
  agent_feature_count
};
#undef FEATURE

bool executes(const flat_log& log, std::size_t i) {
  const step_form form = log.steps[i].form;
  return form == step_form::execution || form == step_form::notice ||
         (form == step_form::turn && log.steps[i].agent != log.planner);
}

// A planner's ledger has "is_request_satisfied": {"reason": …, "answer": true}.
bool declares_satisfied(std::string_view low) {
  const std::size_t at = low.find("\"is_request_satisfied\"");
  if (at == std::string_view::npos) return false;
  const std::size_t answer = low.find("\"answer\"", at);
  return answer != std::string_view::npos && low.substr(answer, 30).find("true") != std::string_view::npos;
}

// The last result of a run whose planner never accepted one.
std::optional<std::size_t> last_unaccepted(const flat_log& log) {
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    if (log.steps[i].form == step_form::assessment && declares_satisfied(lower(log.steps[i].text))) return {};
    if (executes(log, i) && can_be_blamed(log, i)) last = i;
  }
  return last;
}

std::map<std::string, std::size_t> executions(const flat_log& log) {
  std::map<std::string, std::size_t> count;
  for (std::size_t i = 0; i < log.steps.size(); ++i) count[log.steps[i].agent] += executes(log, i);
  return count;
}

// By step: the first instruction after it; the number of steps if there is none.
std::vector<std::size_t> next_instructions(const flat_log& log) {
  std::vector<std::size_t> next(log.steps.size());
  std::size_t at = log.steps.size();
  for (std::size_t i = log.steps.size(); i-- > 0;) {
    next[i] = at;
    if (log.steps[i].form == step_form::instruction) at = i;
  }
  return next;
}

}  // namespace

#define FEATURE(name, by, weighs, means, says) {#name, stage::by, leaning::weighs, bearing::means, says},
const std::vector<feature_info>& orchestrated_features() {
  static const std::vector<feature_info> features{
#include "analysis/chief/orchestrated_features.inc"
  };
  return features;
}

const std::vector<feature_info>& agent_features() {
  static const std::vector<feature_info> features{
#include "analysis/chief/agent_features.inc"
  };
  return features;
}
#undef FEATURE

candidate_rows rows_of_orchestrated(const flat_log& log) {
  candidate_rows out;
  const std::vector<std::size_t> next_instruction = next_instructions(log);
  const std::vector<double> alike = likeness_of_instructions(log);
  std::map<std::string, std::size_t> count = executions(log);
  const std::optional<std::size_t> broke_off = last_unaccepted(log);
  bool satisfied = false, instructed = false;
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    const flat_step& step = log.steps[i];
    if (!can_be_blamed(log, i)) continue;
    std::vector<double> row(step_feature_count, 0.0);
    const auto set = [&row](step_feature f, bool yes) { row[f] = yes ? 1.0 : 0.0; };
    set(s_selection, step.form == step_form::selection);
    set(s_assessment, step.form == step_form::assessment);
    set(s_instruction, step.form == step_form::instruction);
    set(s_replan, step.form == step_form::replan);
    set(s_plan, step.form == step_form::plan);
    set(s_instructs_code, step.form == step_form::instruction && step.text.find("```") != std::string::npos);
    if (step.form == step_form::assessment) {
      const bool now = declares_satisfied(lower(step.text));
      set(s_declares_satisfied, now);
      set(s_first_satisfied, now && !satisfied);
      satisfied = satisfied || now;
      if (const std::size_t next = next_instruction[i]; instructed && next < log.steps.size())
        set(s_changes_topic, alike[next] < 0.25);
    }
    if (i == broke_off) {
      row[s_breaks_off] = 1.0;
      row[s_breaks_off_of_few] = 1.0 / (1.0 + std::log(static_cast<double>(count[step.agent])));
    }
    instructed = instructed || step.form == step_form::instruction;
    out.steps.push_back(i);
    out.rows.push_back(std::move(row));
  }
  return out;
}

agent_rows rows_of_agents(const flat_log& log) {
  agent_rows out;
  std::set<std::string> agents;
  std::string last;
  bool satisfied = false;
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    const flat_step& step = log.steps[i];
    if (can_be_blamed(log, i)) agents.insert(step.agent);
    if (can_be_blamed(log, i) && executes(log, i)) last = step.agent;
    satisfied = satisfied || (step.form == step_form::assessment && declares_satisfied(lower(step.text)));
  }
  for (const std::string& agent : agents) {
    std::vector<double> row(agent_feature_count, 0.0);
    row[a_plans] = agent == log.planner;
    row[a_accepted] = agent == log.planner && satisfied;
    row[a_stopped_with] = agent == last && !satisfied;
    out.agents.push_back(agent);
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace digd::chief
