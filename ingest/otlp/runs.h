// Groups traces into runs. A trace is a run; traces that spans of agents link together are one run.
//
// (AutoGen's runtime begins a trace with every message, and links it to the trace of the sender.) Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/otlp/span.h"

namespace digd::otlp {

// The other traces that belong to the run of this span. Links of spans of no dialect do not count: the consumer of a
// queue may link to anything it read.
std::vector<std::string_view> traces_tied_by(const span& s);

// Spans by run, in order of the runs' ids.
struct run_of_spans {
  std::string id;
  std::vector<span> spans;
};
std::vector<run_of_spans> split_runs(std::vector<span>&& spans);

// The id of a run: "otlp-" and the smallest of its trace ids. Traces without spans do not count: a trace that spans
// only link to may belong to a run that has ended.
std::string run_id_of(std::string_view least_trace);
std::string trace_of_run(std::string_view run_id);  // the inverse; empty if the id is not of this form

}  // namespace digd::otlp
