// The runs of a study, and their results as lines of JSON: one run a line, in an order that does not depend on threads.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "bench/healing/arms.h"

namespace digd::bench {

// One run to be made.
struct trial {
  cell where;
  std::string arm;
  double follow = parameters{}.follow;
  std::uint64_t seed = 0;
};

struct trial_result {
  digd::bench::trial trial;
  outcome measured;
};

// The study of docs/study/simulated-plan.md: the main arms in every cell; arms of single rules and of many returns, and
// other chances to follow a text, in the detailed cells. Seeds first … first + seeds - 1.
std::vector<trial> whole_study(std::uint64_t first, std::uint64_t seeds);
// The second round of the plan: its arms in the detailed cells.
std::vector<trial> second_round(std::uint64_t first, std::uint64_t seeds);
// The cells of the paper's Table 2, observed only: for fit.py.
std::vector<trial> fitting_runs(std::uint64_t first, std::uint64_t seeds);

// Plays the trials on `threads` threads, with these parameters apart from the chance to follow. Calls `progress` with
// the number of finished runs, one call at a time.
std::vector<trial_result> run_all(const std::vector<trial>& trials, const parameters& given, unsigned threads,
                                  const std::function<void(std::size_t done)>& progress);

void write_line(std::ostream& out, const trial_result& result);

}  // namespace digd::bench
