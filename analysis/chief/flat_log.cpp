#include "analysis/chief/flat_log.h"

#include <algorithm>
#include <map>

#include "analysis/chief/text.h"
#include "base/text.h"

namespace digd::chief {

namespace {

bool starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

step_form form_of(const flat_step& step, std::string_view low) {
  const std::string agent = lower(step.agent);
  if (agent == "human" || agent == "user") return step_form::human;
  if (execution_of(low) != execution_state::none) return step_form::execution;
  if (has_any(low.substr(0, 80), {"there is no code from the last", "no code block detected"}))
    return step_form::notice;
  if (step.form == step_form::ending) return step_form::ending;
  if (step.thought) {
    if (starts(low, "next speaker")) return step_form::selection;
    if (starts(low, "initial plan") || starts(low, "new plan")) return step_form::plan;
    if (starts(low, "updated ledger")) return step_form::assessment;
    if (starts(low, "stalled")) return step_form::replan;
    return step_form::note;
  }
  return step_form::turn;
}

}  // namespace

execution_state execution_of(std::string_view text) {
  const std::string low = lower(text.substr(0, 100'000));
  const bool terminal = starts(low, "exitcode:");
  const bool script = low.substr(0, 60).find("the script ran, then exited") != std::string::npos;
  if (!terminal && !script) return starts(low, "failed:") ? execution_state::failed : execution_state::none;
  if (!starts(low, "exitcode: 0") && low.substr(0, 80).find("exit code: 0") == std::string::npos) {
    return execution_state::failed;
  }
  const std::size_t at = low.find(terminal ? "code output:" : "its output was:");
  std::string_view out =
      at == std::string::npos ? std::string_view(low) : std::string_view(low).substr(at + (terminal ? 12 : 15));
  out = trimmed(out);
  for (std::string_view nothing : {"", "none", "[]", "0", "{}", "nan", "null"}) {
    if (out == nothing) return execution_state::empty;
  }
  if (out.size() < 400 && has_any(out, {"traceback", "error:", "not found", "none found"})) {
    return execution_state::empty;
  }
  if (out.ends_with(':') && out.size() < 120) return execution_state::empty;
  return execution_state::ok;
}

namespace {

// The planner of a log without thoughts: an agent that speaks to one other at a time, while the others speak only to
// it. An agent that only hands code to a terminal is not a planner: an addressee has to act.
std::string centre_of_star(const flat_log& log) {
  std::map<std::string, std::size_t> to_one, map;
  for (const flat_step& step : log.steps) {
    if (step.form == step_form::turn) ++map[step.agent];
  }
  for (const flat_step& step : log.steps) {
    if (step.form == step_form::turn && step.to.size() == 1 && map.contains(step.to.front())) ++to_one[step.agent];
  }
  for (const auto& [agent, n] : to_one) {
    if (n < 2 || 5 * n < 4 * map[agent]) continue;
    const std::string& centre = agent;
    const bool star = std::all_of(log.steps.begin(), log.steps.end(), [&](const flat_step& s) {
      return s.form == step_form::human || s.agent == centre || s.to.empty() ||
             (s.to.size() == 1 && s.to.front() == centre);
    });
    if (star) return centre;
  }
  return {};
}

// CaptainAgent's conversations begin with its brief ("# General Task … from manager"). Magentic-One's planner writes
// ledgers as thoughts, which have the field "is_request_satisfied".
known_framework framework_of(const flat_log& log) {
  for (const flat_step& step : log.steps) {
    const std::string low = lower(step.text.substr(0, 20'000));
    if (!step.thought && is_brief(low)) return known_framework::captain_agent;
    if (step.thought && starts(low, "updated ledger") && low.find("is_request_satisfied") != std::string::npos)
      return known_framework::magentic_one;
  }
  return known_framework::none;
}

}  // namespace

std::string_view to_string(known_framework f) {
  switch (f) {
    case known_framework::captain_agent: return "captain-agent";
    case known_framework::magentic_one: return "magentic-one";
    case known_framework::none: break;
  }
  return "unknown";
}

void recognise_forms(flat_log& log) {
  std::map<std::string, std::size_t> thinks;
  for (flat_step& step : log.steps) {
    step.form = form_of(step, lower(step.text));
    step.execution = execution_of(step.text);
    if (step.thought) ++thinks[step.agent];
  }
  const auto thinker =
      std::max_element(thinks.begin(), thinks.end(), [](auto& a, auto& b) { return a.second < b.second; });
  log.planner = thinker != thinks.end() ? thinker->first : centre_of_star(log);
  log.orchestrated = !log.planner.empty();
  log.framework = framework_of(log);
  for (flat_step& step : log.steps) {
    if (log.orchestrated && step.form == step_form::turn && step.agent == log.planner && !step.to.empty()) {
      step.form = step_form::instruction;
    }
  }
}

bool can_be_blamed(const flat_log& log, std::size_t step) {
  const flat_step& s = log.steps[step];
  switch (s.form) {
    case step_form::human:
    case step_form::notice:
    case step_form::ending: return false;
    case step_form::execution: return s.text.substr(0, 7) == "failed:";  // an executor's own report
    default: return true;
  }
}

bool is_verifier(std::string_view agent) {
  return has_any(lower(agent), {"verif", "valid", "check", "review", "critic"});
}

std::vector<double> likeness_of_instructions(const flat_log& log) {
  std::vector<double> alike(log.steps.size(), 0.0);
  word_set before;
  bool any = false;
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    if (log.steps[i].form != step_form::instruction) continue;
    word_set words = content_words(log.steps[i].text);
    if (any) alike[i] = jaccard(words, before);
    before = std::move(words);
    any = true;
  }
  return alike;
}

}  // namespace digd::chief
