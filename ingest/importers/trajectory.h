// Trajectories of other frameworks into digd traces (the mapping and its reasons: docs/importers.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ingest/importers/framework.h"
#include "ingest/trace/import_result.h"

namespace digd::importers {

struct trajectory_options {
  std::string run;                     // the run's id; empty: the framework's name and a hash of the file
  std::int64_t step_ms = 1000;         // as `whowhen_options`
  std::int64_t quiet_ms = 15'000;      // as `whowhen_options`
  std::size_t max_bytes = 256u << 20;  // of the file
  std::size_t max_items = 100'000;     // turns, and entries of the file's list
};

// Never throws. Time and memory are linear in the file.
import_outcome import_trajectory(framework from, std::string_view json_text, const trajectory_options& options = {});

}  // namespace digd::importers
