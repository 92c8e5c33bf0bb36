// Which runs a study has, and its results as lines of JSON: one run a line, in an order that does not depend on
// threads.
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
  outcome came_of_it;
};

// The study that docs/healing.md reports: every cell with the five main arms; the arms of single rules on the cells
// with 10,000 integers and on the case study; other chances to follow on the same cells. `seeds` from `first` on.
std::vector<trial> whole_study(std::uint64_t first, std::uint64_t seeds);
// What was tried before, on the detailed cells: digd as it is and the arms of `tried`.
std::vector<trial> tuning_study(std::uint64_t first, std::uint64_t seeds);

// On `threads` threads; `progress` is told how many are done, from one thread at a time.
std::vector<trial_result> run_all(const std::vector<trial>& trials, unsigned threads,
                                  const std::function<void(std::size_t done)>& progress);

void write_line(std::ostream& to, const trial_result& result);

}  // namespace digd::bench
