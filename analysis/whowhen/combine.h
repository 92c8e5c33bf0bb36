// The default ranking and a judge together. A judge's choice adds a weight to the log-probability of its step; the
// weight is chosen by cross-validation.
#pragma once

#include <vector>

#include "analysis/whowhen/score.h"

namespace digd::whowhen {

struct combined {
  std::vector<answer> answers;  // one a log, in the same order
  std::vector<double> weights;  // by log: the weight chosen on the other questions; 0: the judge is ignored
};

// `ranked` (with probabilities) and `judged` have one entry a log. For each question, the other questions choose the
// weight that gives the true steps the highest likelihood; of equal ones the lowest. A proven answer stays, and a judge
// without an answer changes nothing.
combined weigh_judge(const std::vector<const labelled_log*>&, const std::vector<answer>& ranked,
                     const std::vector<answer>& judged);

}  // namespace digd::whowhen
