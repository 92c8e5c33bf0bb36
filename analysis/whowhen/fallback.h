// A ranker that starts from a constant in an unknown framework, and deviates from it only for strong evidence.
// `digctl eval frameworks --prior` weighs it against the ranker alone.
#pragma once

#include <string>
#include <vector>

#include "analysis/whowhen/frameworks.h"

namespace digd::whowhen {

// The ranker's answer if its first step is at least `min_ratio` times as probable as the constant's step, or proven.
// Otherwise the constant's answer, followed by the other steps in the ranker's order.
answer from_prior(const answer& ranked, const answer& constant, double min_ratio);

struct prior_figure {
  std::string framework;
  std::string constant;  // chosen on the other frameworks
  double min_ratio = 0;  // chosen on the other frameworks; 0: the ranker alone
  left_out_figure agent, step;
  difference agent_change, step_change;  // to the ranker alone
};

// Nested: the logs of one framework are answered by a ranker, a constant and a ratio that were chosen without them.
// The choice has the most right agents and steps when each of the other frameworks is left out in turn; each framework
// weighs the same.
std::vector<prior_figure> weigh_prior(const transfer&);

std::string as_table(const std::vector<prior_figure>&);

}  // namespace digd::whowhen
