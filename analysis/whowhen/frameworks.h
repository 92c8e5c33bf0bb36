// Attribution in logs of a framework that nobody trained on: leave one framework out.
#pragma once

#include <set>
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

// How well one question (agent or step) is answered in one framework that was left out.
struct left_out_figure {
  double hits = 0;            // of the generic ranker, as a share
  std::string best_constant;  // the constant with the most hits in this framework, chosen afterwards
  double constant_hits = 0;
  difference gain;  // ours minus the constant's
};

// Answers that do not read what a log says.
struct constant {
  const char* name;
  answer (*text)(const labelled_log&);
};
inline constexpr constant constants[] = {{"first-speaker", first_speaker},
                                         {"first-acting-step", first_acting_step},
                                         {"most-frequent-tool-agent", busiest_tool_agent},
                                         {"last-tool-step", last_tool_step}};

// 1 if the answer is right, otherwise 0.
double hit_agent(const labelled_log&, const answer&);
double hit_step(const labelled_log&, const answer&);
// `ours`: by log, the share that a method got right, as `hit` counts it.
left_out_figure compare_to_constants(const std::vector<const labelled_log*>&, const std::vector<double>& ours,
                                     double (*hit)(const labelled_log&, const answer&));

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

// The generic ranker, trained and calibrated on the logs whose subset is not in `left_out`.
chief::ranker_set train_without(const std::vector<labelled_log>&, const std::vector<chief::lesson>&,
                                const std::set<std::string>& left_out);

std::string as_table(const transfer&);
std::string as_json(const transfer&);

// How often steps with a given probability are the decisive one.
struct reliability_bin {
  double from = 0, to = 0, predicted = 0;  // the mean of the probabilities in it
  std::size_t steps = 0, decisive = 0;
};
// Uses only logs in which nothing is proven. 10 bins; the lower a bin, the narrower.
std::vector<reliability_bin> reliability(const std::vector<labelled_log>&, const std::vector<answer>&);
std::string reliability_table(const std::vector<reliability_bin>&);
std::string reliability_svg(const std::vector<reliability_bin>&, const std::string& title);

}  // namespace digd::whowhen
