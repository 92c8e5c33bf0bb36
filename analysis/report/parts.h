// What the attribution passes say of one run, as parts of its report. Each says itself why it did not run, and how to.
//
// Thread: the caller's, and for Shapley values as many as asked for. Bounds: `part_options`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "report/document.h"
#include "report/observed.h"

namespace digd::report {

struct part_options {
  double budget_seconds = 20;  // for Shapley values; 0: none of the passes is run
  unsigned threads = 1;
  std::uint64_t seed = 1;
  std::size_t most_steps = 4'000;                                     // of CHIEF's flat log
  const std::atomic<bool>* stop = nullptr;                            // Ctrl-C: what is done is kept
  std::function<void(std::size_t done, std::size_t total)> progress;  // of Shapley values
};

// The run's lines, asked for once it is clear that they are needed; empty if they are too long to be held.
using trace_text = std::function<std::string_view()>;

// `subject` names the run on a command line.
part shapley_part(const trace_text& trace, const observed& seen, const std::string& subject,
                  const part_options& options);
part chief_part(const trace_text& trace, const observed& seen, const std::string& subject, const part_options& options);
// `analysis`: what `digctl causal explain --format json` wrote; empty: nothing was handed in.
part causal_part(std::string_view analysis);

}  // namespace digd::report
