// Finds the causes of the turns of a run: from what the spans state, otherwise from their times.
#pragma once

#include <vector>

#include "ingest/otlp/run_of_turns.h"
#include "ingest/otlp/span_tree.h"

namespace digd::otlp {

struct placed_spans {
  const span_tree& tree;
  const std::vector<role>& roles;
  const std::vector<std::size_t>& holders;  // the turn that a span is part of, or `none`
};

// Adds passings and losses to a run that has its turns. Turns that were called have a caller and no other cause.
void find_causes(const placed_spans& spans, run_of_turns& into);

}  // namespace digd::otlp
