// Did changing a factor change the outcome? Compares paired runs: the same tasks (or seeds) unchanged (A) and with one
// factor changed (B).
//
//   sign test      number of pairs that went up among those that differ: binomial, two-sided. For an outcome with two
//                  values it is McNemar's exact test.
//   Wilcoxon       signed ranks; zeros dropped, ties share ranks. Exact up to 50 pairs without ties, else the normal
//                  approximation with corrections for ties and continuity.
//   confirmed      the factor moved, and so did the outcome (Wilcoxon; sign test for two values; p ≤ level)
//   contradicted   the factor moved, and the outcome stayed within ±margin of its standard deviation (two one-sided
//                  tests at the level): shown to have no effect, not merely not shown to have one
//   open           neither of these; also if the factor did not move, because then nothing was tested
#pragma once

#include <string>
#include <vector>

#include "analysis/causal/worldview.h"

namespace digd::causal {

struct paired_test {
  std::size_t pairs = 0;
  std::size_t up = 0, down = 0;
  double mean_change = 0, sd_change = 0;
  double sign_p = 1;
  double wilcoxon = 0;  // the smaller of the two rank sums
  double wilcoxon_p = 1;
  bool exact = false;  // whether `wilcoxon_p` is exact
};

// `changes`: B minus A, one number a pair.
paired_test test_pairs(const std::vector<double>& changes);

struct verification {
  std::string problem;
  std::vector<std::string> notes;
  std::string factor, outcome, paired_by;
  paired_test of_factor, of_outcome;
  double outcome_sd = 0;  // over the tasks of A
  bool is_binary = false;
  experiment result;
  std::string words;
};

struct verify_options {
  std::string factor, outcome = "success";
  std::string pair_by;  // the label that pairs runs
  double level = 0.05;
  double margin = 0.2;  // of the outcome's standard deviation
};

// One side: values with the label that pairs them. Several runs of a task are averaged.
struct paired_values {
  std::vector<std::pair<std::string, double>> factor, outcome;
};
verification verify(const paired_values& a, const paired_values& b, const verify_options& options);

std::string verification_text(const verification& v);
std::string verification_json(const verification& v);

}  // namespace digd::causal
