// What a run truly lacked, and which detections spoke of it. Only the score sees which elements results truly count.
//
// A detection is right if the work that it names matters in the end:
//   early termination      the answer lacked elements
//   orphaned event, excessive rerouting   the run's answer lacks elements of the event, or there is no answer
//   cross-lineage aggregation, repeated subproblem   the run's answer counts elements of the event, or of the evidence,
//                          twice
//   deadlock, missing termination   the run ends without an answer
// A run had the failure if such work exists, detected or not.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/healing/agent.h"
#include "model/answer.h"
#include "model/rule_id.h"

namespace digd::bench {

struct scores {
  std::array<std::uint64_t, failure_rule_count> right{};  // detections that speak of something truly lacking
  std::array<bool, failure_rule_count> had{};             // the run truly had the failure
  bool operator==(const scores&) const = default;
};

// What became of an item.
struct item_history {
  bool consumed = false;
  bool held = false;  // at the end it is in a buffer or an input of an open activation
  int reroutes = 0;
};

// The facts of a run that has ended.
struct run_facts {
  range whole;
  const std::vector<item>& items;
  const std::map<std::string, int>& items_by_id;
  const std::vector<item_history>& histories;  // by number of the item
  std::optional<int> answer;                   // number of the accepted answer
};

scores score(const run_facts& run, const std::vector<detection>& detections);

}  // namespace digd::bench
