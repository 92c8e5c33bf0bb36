#include "analysis/chief/llm/judges.h"

#include <algorithm>

#include "analysis/chief/attribute.h"

namespace digd::chief::llm {

namespace {

ruling failed(const endpoint& model, boost::system::error_code error) {
  ruling r;
  r.error = error;
  r.detail = model.problem();
  return r;
}

ruling nothing_found(const std::string& problem) {
  ruling r;
  r.error = make_error_code(llm_errc::undecided);
  r.detail = problem;
  return r;
}

ruling at_step(const flat_log& log, std::size_t step, std::string reason) {
  ruling r;
  r.agent = log.steps[step].agent;
  r.steps = {step};
  r.reason = std::move(reason);
  return r;
}

std::vector<std::size_t> first_suspects(const flat_log& log) {
  constexpr std::size_t max_suspects = 5;
  std::vector<std::size_t> out;
  for (const suspect& s : attribute(log).ranking) {
    if (out.size() < max_suspects) out.push_back(s.step);
  }
  return out;
}

}  // namespace

ruling all_at_once(endpoint& model, const flat_log& log, const judge_options& options) {
  const auto messages =
      prompt(log, options, 0, log.steps.size() - 1,
             "Read the whole log. Name the agent and the step of the decisive error, and up to four other "
             "steps that you would suspect next.\n"
             R"(Form: {"agent": "name", "step": number, "others": [number, …], "reason": "one or two sentences"})");
  const auto reply = ask_for_object(model, messages, options, R"({"agent": "", "step": 0, "reason": "dry run"})");
  if (!reply) return failed(model, reply.error());
  const auto step = step_in(*reply, "step", log);
  const auto agent = agent_in(*reply, "agent", log);
  if (!step && !agent) return nothing_found("the reply names neither an agent nor a step of the log");
  ruling r;
  if (step) r = at_step(log, *step, "");
  if (agent) r.agent = *agent;
  r.reason = text_in(*reply, "reason");
  if (const auto* others = reply->if_contains("others"); others && others->is_array() && step) {
    for (const auto& other : others->get_array()) {
      if (const auto next = step_in({{"step", other}}, "step", log); next && r.steps.size() < 10)
        r.steps.push_back(*next);
    }
  }
  return r;
}

ruling step_by_step(endpoint& model, const flat_log& log, const judge_options& options, const std::string& only) {
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    if (!can_be_blamed(log, i) || (!only.empty() && log.steps[i].agent != only)) continue;
    const std::string text =
        "You see the log up to step " + std::to_string(i) + ", by " + log.steps[i].agent + ". Is step " +
        std::to_string(i) +
        " the decisive error: an error of its own, not one taken over, that will make the run fail?\n"
        R"(Form: {"decisive": true or false, "reason": "one sentence"})";
    const auto reply =
        ask_for_object(model, prompt(log, options, 0, i, text), options, R"({"decisive": false, "reason": "dry run"})");
    if (!reply) return failed(model, reply.error());
    const auto* yes = reply->if_contains("decisive");
    if (yes && yes->is_bool() && yes->get_bool()) return at_step(log, i, text_in(*reply, "reason"));
  }
  return nothing_found("no step was called the decisive error");
}

ruling binary_search(endpoint& model, const flat_log& log, const judge_options& options) {
  std::size_t from = 0, to = log.steps.size() - 1;
  std::string reason;
  while (from < to) {
    const std::size_t middle = from + (to - from) / 2;
    const std::string text = "The decisive error is in these steps. Is it in the first half, steps " +
                             std::to_string(from) + " to " + std::to_string(middle) + ", or in the second, steps " +
                             std::to_string(middle + 1) + " to " + std::to_string(to) +
                             "?\n"
                             R"(Form: {"half": "first" or "second", "reason": "one sentence"})";
    const auto reply = ask_for_object(model, prompt(log, options, from, to, text), options,
                                      R"({"half": "first", "reason": "dry run"})");
    if (!reply) return failed(model, reply.error());
    const std::string half = text_in(*reply, "half");
    if (half != "first" && half != "second") return nothing_found("the reply names neither half");
    reason = text_in(*reply, "reason");
    if (half == "first") to = middle;
    else from = middle + 1;
  }
  return at_step(log, from, std::move(reason));
}

ruling shortlist(endpoint& model, const flat_log& log, const judge_options& options) {
  const std::vector<std::size_t> ranked = options.suspects.empty() ? first_suspects(log) : options.suspects;
  if (ranked.empty()) return nothing_found("the log has no step that can be blamed");
  std::vector<std::size_t> shown = ranked;
  std::sort(shown.begin(), shown.end());
  std::string names;
  for (std::size_t i : shown) names += (names.empty() ? "" : ", ") + std::to_string(i);
  if (shown.back() != log.steps.size() - 1) shown.push_back(log.steps.size() - 1);
  const std::string text = "Only these steps are suspected: " + names + ". Which of them is the decisive error?\n" +
                           R"(Form: {"step": number, "reason": "one sentence"})";
  const auto reply =
      ask_for_object(model, prompt(log, options, shown, "The suspected steps and the last step of the log:\n", text),
                     options, R"({"step": )" + std::to_string(ranked.front()) + R"(, "reason": "dry run"})");
  if (!reply) return failed(model, reply.error());
  const auto step = step_in(*reply, "step", log);
  if (!step || std::find(ranked.begin(), ranked.end(), *step) == ranked.end())
    return nothing_found("the reply names none of the suspected steps");
  ruling r = at_step(log, *step, text_in(*reply, "reason"));
  for (std::size_t i : ranked) {
    if (i != *step) r.steps.push_back(i);
  }
  return r;
}

ruling hybrid(endpoint& model, const flat_log& log, const judge_options& options) {
  ruling whole = all_at_once(model, log, options);
  if (whole.error || whole.agent.empty()) return whole;
  ruling within = step_by_step(model, log, options, whole.agent);
  if (!within.error) {
    within.steps.insert(within.steps.end(), whole.steps.begin(), whole.steps.end());
    within.notes.push_back("agent from all-at-once: " + whole.reason);
    return within;
  }
  const std::string why = within.error.message() + (within.detail.empty() ? "" : ": " + within.detail);
  whole.notes.push_back("step-by-step: " + why);
  return whole;
}

}  // namespace digd::chief::llm
