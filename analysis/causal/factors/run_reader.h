// One recorded run, a trace line by line, into its facts. The run goes through the same engine as it did live, so
// that firings and verdicts are those of the daemon. One reader a run.
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

  // False, with `problem` set, if the trace cannot go on.
  bool line(std::string_view text);
  const std::string& problem() const;
  run_facts take();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace digd::causal
