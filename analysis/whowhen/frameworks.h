// Attribution in logs of a framework that nobody trained on: leave one framework out.
#pragma once

#include <string>
#include <vector>

#include "analysis/chief/rankers.h"
#include "analysis/whowhen/score.h"

namespace digd::whowhen {

struct difference {
  double mean = 0, low = 0, high = 0;
};
// The 95% interval of the difference of two paired proportions (Agresti and Min 2005: adjusted Wald).
difference paired_difference(const std::vector<double>& ours, const std::vector<double>& theirs);

// One question (agent or step) asked of one framework that was left out.
struct left_out_figure {
  double hits = 0;            // of the generic ranker, as a share
  std::string best_constant;  // the constant with the most hits in this framework, chosen afterwards
  double constant_hits = 0;
  difference gain;  // ours minus the constant's
};

struct left_out {
  std::string framework;
  std::size_t logs = 0, proven = 0;
  left_out_figure agent, step;
  double top3 = 0, top5 = 0, random_step = 0;
};

struct transfer {
  std::vector<left_out> frameworks;
  std::vector<labelled_log> logs;
  std::vector<answer> answers;  // by log, from a ranker that was trained on the other frameworks
};

// `runs` simulated runs of each style (planted_frameworks.h).
std::vector<labelled_log> simulated_frameworks(std::size_t runs, std::uint64_t seed);

// A framework is the `subset` of its logs. At most five frameworks. Each is answered by the generic ranker.
transfer leave_one_framework_out(std::vector<labelled_log> logs);

std::string as_table(const transfer&);
std::string as_json(const transfer&);

// How often steps with a given probability are the decisive one.
struct reliability_bin {
  double from = 0, to = 0, predicted = 0;  // the mean of the probabilities in it
  std::size_t steps = 0, decisive = 0;
};
// Only logs where nothing is proven; 10 bins, the narrower the lower.
std::vector<reliability_bin> reliability(const std::vector<labelled_log>&, const std::vector<answer>&);
std::string reliability_table(const std::vector<reliability_bin>&);
std::string reliability_svg(const std::vector<reliability_bin>&, const std::string& title);

}  // namespace digd::whowhen
