// Finds the turns of a run in its spans: which spans are acts of agents, who called whom, and the causes.
//
// Pure functions over spans that the caller keeps alive; only lack of memory throws. Neither the order of the spans nor
// duplicates change the result. O(n log n) in spans and links, with the bounds in run_of_turns.h.
#pragma once

#include <span>

#include "ingest/otlp/run_of_turns.h"
#include "ingest/otlp/span.h"

namespace digd::otlp {

run_of_turns find_turns(std::span<const span> spans);

}  // namespace digd::otlp
