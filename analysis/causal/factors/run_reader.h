// Reads one recorded run, a trace line by line, into its facts. The lines go through the engine as they did live, so
// that detections and verdicts are those of the daemon. Use one reader a run.
//
// Thread: one at a time. Bounds: the facts grow with the run's events. Failure: `problem`, in words.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "analysis/causal/factors/run_facts.h"

namespace digd::causal {

class run_reader {
 public:
  explicit run_reader(const run_window& window);
  ~run_reader();

  // False, with `problem` set, if the trace cannot continue.
  bool line(std::string_view text);
  const std::string& problem() const;
  run_facts take();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace digd::causal
