// The results of the attribution methods for one run, as parts of its report (report/document.h). A part that did not
// run says why, and how to run it.
//
// Thread: the caller's, and `part_options::threads` for Shapley values. Bounds: `part_options`.
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
  double budget_seconds = 20;  // for Shapley values; 0: run no method
  unsigned threads = 1;
  std::uint64_t seed = 1;
  std::size_t max_steps = 4'000;                                      // a run with more events gets no CHIEF part
  const std::atomic<bool>* stop = nullptr;                            // set by Ctrl-C; finished work is kept
  std::function<void(std::size_t done, std::size_t total)> progress;  // of Shapley values
};

// Returns the run's lines; called only if they are needed. Empty if they are too long for memory.
using trace_text = std::function<std::string_view()>;

// `subject` names the run on a command line.
part shapley_part(const trace_text& trace, const observed& seen, const std::string& subject,
                  const part_options& options);
part chief_part(const trace_text& trace, const observed& seen, const std::string& subject, const part_options& options);
// `analysis`: the output of `digctl causal explain --format json`; empty: not given.
part causal_part(std::string_view analysis);

}  // namespace digd::report
