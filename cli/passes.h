// The offline passes (analysis/) in digctl: their commands, and their parts of a report. A digctl with the passes
// compiles passes.cpp, one without them no_passes.cpp. No other file differs between the two, so adding the passes
// recompiles no other file (scripts/run).
//
// Thread: one; `attributed` blocks, and computes Shapley values on threads of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/compose.h"
#include "report/document.h"

namespace CLI {
class App;
}

namespace digd::cli {

class kept_trace;
class progress;

void add_pass_commands(CLI::App& app, int& status);

struct attribution_options {
  std::string causes;  // a file with the output of `digctl causal explain --format json`; empty: none
  double budget_seconds = 20;
  unsigned threads = 0;  // 0: one for each core
  std::uint64_t seed = 1;
};

// The parts of a report that name who was responsible; the user named the run `source`. Shows progress; Ctrl-C ends
// attribution with the results so far. nullopt, after an error message: `causes` cannot be read.
std::optional<std::vector<report::part>> attributed(const std::string& source, const attribution_options& options,
                                                    kept_trace& trace, const report::gathered& from,
                                                    progress& progress);

}  // namespace digd::cli
