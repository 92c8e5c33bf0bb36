// Judges that ask a model: the three of "Which Agent Causes Task Failures and When?" (section 4.1), their hybrid
// (4.7), and CHIEF's stages (chief_stages.h).
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
  std::vector<std::string> notes;   // what a stage decided, or what went wrong and was done instead
  bool stood_in = false;            // it is the deterministic method's: the model gave none
  boost::system::error_code error;  // why there is no ruling
  std::string detail;
};

// One prompt with the whole log.
ruling all_at_once(endpoint&, const flat_log&, const judge_options& = {});
// A prompt a step, each with the log up to that step, until one is called the decisive error. With `only`, just that
// agent's steps are asked about. The user's and the terminal's steps are never asked about.
ruling step_by_step(endpoint&, const flat_log&, const judge_options& = {}, const std::string& only = {});
// Halves the log until one step is left: ceil(log2 n) prompts.
ruling binary_search(endpoint&, const flat_log&, const judge_options& = {});
// The agent from all_at_once, then step_by_step over its steps; where that finds none, the step of the first.
ruling hybrid(endpoint&, const flat_log&, const judge_options& = {});

}  // namespace digd::chief::llm
