// What became of each healing: every healed finding is watched until its symptom has cleared, has come back, or
// the run ends. Bounded: the oldest watch beyond the limit is reported unresolved.
#pragma once

#include <cstddef>
#include <vector>

#include "model/answer.h"
#include "rules/rule.h"

namespace digd {

class watch_list {
 public:
  static constexpr std::size_t most = 64;

  // A message is judged, or a window fires. What it shows is no relapse of what the same one showed before.
  void next_occasion() { ++occasion_; }
  void add(watched w, milliseconds now, answer& out);
  // A rule fired again: earlier healings of the same symptom did not help.
  void fired_again(const watched& found, milliseconds now, answer& out);
  void update(const graph::graph& g, const run_progress& progress, milliseconds now, answer& out);
  void end(milliseconds now, answer& out);
  watched& newest() { return watcheds_.back(); }
  std::size_t size() const { return watcheds_.size(); }

 private:
  std::vector<watched> watcheds_;
  std::uint64_t occasion_ = 0;
};

}  // namespace digd
