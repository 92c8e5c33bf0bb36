// Who&When failure logs into digd traces (the mapping and its reasons: docs/importers.md).
//
// It reads both subsets: Algorithm-Generated (a step's agent in `name`) and Hand-Crafted (in `role`). It neither reads
// nor writes the annotation (`mistake_agent`, `mistake_step`, `mistake_reason`, `ground_truth`). `is_correct` or
// `is_corrected` only gives the outcome in the last line.
//
// Ids name the step: step 12 of `history` is the activation `a12` and the event `s12`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ingest/trace/import_result.h"

namespace digd::importers {

struct whowhen_options {
  // The run's id; empty: `whowhen-ag-…` or `whowhen-hc-…` with the question's id.
  std::string run;
  // The log has no times: step k lasts from k to k+1 times this. 1 to 60,000, so that no activation counts as stalled.
  std::int64_t step_ms = 1000;
  // The silence after a log that stops without an answer (a `time` message), so that the rules that judge by time can
  // fire at its end. It is longer than the longest default window (10,000). 0: treat the log as cut off: no `time`
  // message, and the outcome `aborted`.
  std::int64_t quiet_ms = 15'000;
  std::size_t max_bytes = 256u << 20;  // of the file
  std::size_t max_items = 100'000;     // steps
};

// Throws nothing. Time and memory are linear in the file, except that texts are searched for each agent's name.
import_outcome import_whowhen(std::string_view json_text, const whowhen_options& options = {});

}  // namespace digd::importers
