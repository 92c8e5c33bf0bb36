// Trajectories of other frameworks into digd traces (the mapping and its reasons: docs/importers.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/importers/import_result.h"

namespace digd::importers {

enum class framework : std::uint8_t { metagpt, ag2, hyperagent, magentic_one, openhands, swe_agent };

inline constexpr std::array<std::string_view, 6> framework_names{"metagpt",      "ag2",       "hyperagent",
                                                                 "magentic-one", "openhands", "swe-agent"};

constexpr std::string_view to_string(framework f) { return framework_names[static_cast<std::size_t>(f)]; }

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
