// CHIEF with a language model: decomposition, OTAR, edges, oracles, backtracking and counterfactual attribution, with
// one prompt a stage.
//
// If a reply is missing or does not fit the log, the result of the deterministic method replaces that stage and a note
// reports it. If the last stage fails, the deterministic ranking becomes the ruling (`ruling::is_deterministic`).
//
// The paper's retrieval of solved examples (section 4.1.1) is left out: there is no knowledge base here.
#pragma once

#include "analysis/chief/attribute.h"
#include "analysis/chief/llm/judges.h"

namespace digd::chief::llm {

// Sends seven prompts. `graph`, if given, receives the graph with the model's subtasks if they cover the log in order
// without gaps, else with the deterministic ones.
ruling chief_stages(endpoint&, const flat_log&, const judge_options& = {}, attribution* graph = nullptr);

}  // namespace digd::chief::llm
