// Who&When failure logs into digd traces (the mapping and its reasons: docs/importers.md).
//
// Both subsets are read: Algorithm-Generated (a step's agent in `name`) and Hand-Crafted (in `role`). The
// annotation
// (`mistake_agent`, `mistake_step`, `mistake_reason`, `ground_truth`) is neither read nor written;
// `is_correct` or `is_corrected` only gives the outcome of the last line.
//
// Steps keep their place in their ids: step 12 of `history` is the activation `a12` and the event `s12`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ingest/importers/import_result.h"

namespace digd::importers {

struct whowhen_options {
  // The run's id; empty: `whowhen-ag-…` or `whowhen-hc-…` with the question's id.
  std::string run;
  // The log has no times: step k lasts from k to k+1 times this. 1 to 60,000, so that no step seems to stall.
  std::int64_t step_ms = 1000;
  // How long after the last step the log is looked on as silent if nothing was submitted (a `time` message),
  // so that the rules by time can say what the log's end shows. Above the longest default window (10,000); 0:
  // no such message.
  std::int64_t quiet_ms = 15'000;
  std::size_t max_bytes = 256u << 20;  // of the file
  std::size_t max_items = 100'000;     // steps
};

// Never throws. Time and memory are linear in the file, but for the texts, which are searched for each
// agent's name.
import_outcome import_whowhen(std::string_view json_text, const whowhen_options& options = {});

}  // namespace digd::importers
