// CHIEF with a model: decomposition, OTAR, edges, oracles, backtracking and counterfactual attribution, a prompt each.
// The model works on the deterministic graph's place: a stage whose reply is missing or does not fit the log is
// replaced by what the deterministic method finds, and noted; only an endpoint that cannot be had at the last stage
// leaves no ruling of the model, and then the deterministic ranking is the ruling and is noted as such.
//
// The paper's retrieval of solved examples (section 4.1.1) is left out: there is no knowledge base here.
#pragma once

#include "analysis/chief/attribute.h"
#include "analysis/chief/llm/judges.h"

namespace digd::chief::llm {

// Seven prompts. `graph` gets the subtasks as the model cut them, if it did so validly: in order, without gaps.
ruling chief_stages(endpoint&, const flat_log&, const judge_options& = {}, attribution* graph = nullptr);

}  // namespace digd::chief::llm
