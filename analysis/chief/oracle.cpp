#include "analysis/chief/oracle.h"

#include <algorithm>
#include <utility>

#include "analysis/chief/text.h"
#include "base/text.h"

namespace digd::chief {

namespace {

const std::string code_runs = "what it runs does run, and gives something";
const std::string grounded = "its values come from the question, from before, or from something run";
const std::string on_topic = "its steps are about the goal";
const std::string answers = "it ends with a result, not with an intention or a guess";

void keep(std::vector<std::string>& list, std::size_t max_size) {
  if (list.size() > max_size) list.resize(max_size);
}

// By subtask: the values that it uses from others, at most 8 in their alphabetical order.
std::vector<word_set> values_from_others(const hierarchy& graph) {
  std::vector<word_set> used(graph.subtasks.size());
  for (const step_edge& edge : graph.step_edges) {
    const std::size_t from = *graph.subtask_of[edge.from], to = *graph.subtask_of[edge.to];
    if (from != to) used[to].insert(used[to].end(), edge.carried.begin(), edge.carried.end());
  }
  for (word_set& words : used) {
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    keep(words, 8);
  }
  return used;
}

// By step: whether it asserts three or more values that neither the question, nor an earlier step, nor an execution
// gave.
std::vector<bool> steps_without_source(const flat_log& log) {
  std::vector<bool> found(log.steps.size());
  vocabulary known(values(log.question));
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    const flat_step& step = log.steps[i];
    const word_set here = values(step.text);
    const bool source = !can_be_blamed(log, i) || step.text.find("```") != std::string::npos ||
                        is_brief(lower(step.text)) || (i > 0 && log.steps[i - 1].form == step_form::execution);
    found[i] = !source && without(here, known).size() >= 3;
    known.add(here);
  }
  return found;
}

verdict_of_subtask judge_one(const flat_log& log, const subtask& sub, const virtual_oracle& oracle,
                             const std::vector<bool>& ungrounded) {
  verdict_of_subtask v;
  const auto unmet = [&v](const std::string& criterion, std::size_t step) {
    v.unmet.push_back("not met: " + criterion + " (step " + std::to_string(step) + ")");
  };
  vocabulary about;
  std::size_t last_act = sub.steps.front(), last_run = sub.steps.front();
  execution_state ran = execution_state::none;
  for (std::size_t i : sub.steps) {
    about.add(content_words(log.steps[i].text));
    if (log.steps[i].execution != execution_state::none) ran = log.steps[i].execution, last_run = i;
    if (can_be_blamed(log, i)) last_act = i;
    if (ungrounded[i]) unmet(grounded, i);
  }
  if (ran == execution_state::failed || ran == execution_state::empty) unmet(code_runs, last_run);
  if (share_of(about, oracle.key_evidence) < 0.15) unmet(on_topic, sub.steps.front());
  const std::string end = lower(log.steps[last_act].text);
  if (assumes(end) || (!concludes(end) && speaks_of_failure(end))) unmet(answers, last_act);
  v.fails = !v.unmet.empty();
  return v;
}

}  // namespace

std::vector<virtual_oracle> synthesize_oracles(const flat_log& log, const hierarchy& graph) {
  std::vector<virtual_oracle> oracles;
  word_set asked = content_words(log.question);
  keep(asked, 12);
  std::vector<word_set> used = values_from_others(graph);
  for (std::size_t k = 0; k < graph.subtasks.size(); ++k) {
    virtual_oracle o;
    const subtask& sub = graph.subtasks[k];
    const flat_step& first = log.steps[sub.steps.front()];
    o.goal = first.form == step_form::instruction ? one_line(first.text, 300) : one_line(log.question, 300);
    o.preconditions = std::move(used[k]);
    o.key_evidence = first.form == step_form::instruction ? content_words(first.text) : asked;
    keep(o.key_evidence, 12);
    o.acceptance = {code_runs, grounded, on_topic, answers};
    oracles.push_back(std::move(o));
  }
  return oracles;
}

std::vector<verdict_of_subtask> judge(const flat_log& log, const hierarchy& graph,
                                      const std::vector<virtual_oracle>& oracles) {
  const std::vector<bool> ungrounded = steps_without_source(log);
  std::vector<verdict_of_subtask> verdicts;
  for (std::size_t k = 0; k < graph.subtasks.size(); ++k) {
    verdicts.push_back(judge_one(log, graph.subtasks[k], oracles[k], ungrounded));
  }
  return verdicts;
}

}  // namespace digd::chief
