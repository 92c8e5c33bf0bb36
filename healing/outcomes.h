// The outcomes of healings: each healed finding is watched until its symptom clears, recurs, or the run ends.
//
// One per run, on its engine thread. Bounds: at most `max_watched`; the oldest beyond that is reported unresolved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/answer.h"
#include "rules/rule.h"

namespace digd {

class outcome_watch {
 public:
  static constexpr std::size_t max_watched = 64;

  // Begins an occasion: a message to judge, or a window that fires. Findings of one occasion do not count as
  // recurrences of each other.
  void next_occasion() { ++occasion_; }
  // Starts to watch a healed finding.
  void add(watched w, milliseconds now, answer& out);
  // Reports `recurred` for earlier healings of the same symptom (rule_traits::recurs).
  void found_again(const watched& found, milliseconds now, answer& out);
  // Reports the symptoms that the graph shows as cleared or recurred.
  void update(const graph::graph& g, const run_progress& progress, milliseconds now, answer& out);
  // Reports all that remain as unresolved.
  void end(milliseconds now, answer& out);
  watched& newest() { return watched_.back(); }

 private:
  std::vector<watched> watched_;  // oldest first
  std::uint64_t occasion_ = 0;
};

}  // namespace digd
