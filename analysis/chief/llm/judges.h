// Judges that ask a language model: the three of "Which Agent Causes Task Failures and When?" (section 4.1), their
// hybrid (section 4.7), a judge of the steps that the default method suspects, and the stages of CHIEF
// (chief_stages.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/chief/llm/prompts.h"

namespace digd::chief::llm {

struct ruling {
  std::string agent;               // empty: none found
  std::vector<std::size_t> steps;  // most suspect first; empty: none found
  std::string reason;
  std::vector<std::string> notes;   // what the stages decided, and which stages the deterministic method replaced
  bool is_deterministic = false;    // the model gave no ruling; this is the deterministic method's
  boost::system::error_code error;  // why there is no ruling
  std::string detail;
};

// Sends one prompt with the whole log.
ruling all_at_once(endpoint&, const flat_log&, const judge_options& = {});
// Sends one prompt a step with the log up to that step, until the model calls a step the decisive error. Skips steps
// that cannot be blamed and, with `only`, steps of other agents.
ruling step_by_step(endpoint&, const flat_log&, const judge_options& = {}, const std::string& only = {});
// Halves the log until one step is left: ceil(log2 n) prompts.
ruling binary_search(endpoint&, const flat_log&, const judge_options& = {});
// Sends one prompt with `judge_options::suspects` and the last step of the log: which suspect is the decisive error?
// The suspects stand in the order of the log, so that the model does not learn how they were ranked.
ruling shortlist(endpoint&, const flat_log&, const judge_options& = {});
// The agent of all_at_once, then step_by_step over its steps; if that finds none, the step of all_at_once.
ruling hybrid(endpoint&, const flat_log&, const judge_options& = {});

}  // namespace digd::chief::llm
