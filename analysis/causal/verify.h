// Did changing a factor change the outcome? Paired runs: the same tasks (or seeds) once as they were, A, and once with
// the factor changed, B.
//
//   sign test      of the pairs that differ, how many went up: binomial, two-sided. For outcomes of two kinds it
//                  is McNemar's exact test.
//   Wilcoxon       signed ranks, zeros dropped, ties share ranks: exact up to 50 pairs without ties, else the normal
//                  with corrections for ties and continuity.
//   confirmed      the factor moved, and the outcome too (Wilcoxon for numbers, sign test for two kinds; p ≤ level)
//   contradicted   the factor moved, and the outcome stays within ±0.2 of its standard deviation (two one-sided
//                  tests at the level): shown to be without effect, not only not shown to have one
//   open           neither; also if the factor did not move: then nothing was tried
#pragma once

#include <string>
#include <vector>

#include "analysis/causal/worldview.h"

namespace digd::causal {

struct paired_test {
  std::size_t pairs = 0;  // all
  std::size_t up = 0, down = 0;
  double mean_change = 0, sd_change = 0;
  double sign_p = 1;
  double wilcoxon = 0;  // the smaller sum of ranks
  double wilcoxon_p = 1;
  bool exact = false;  // of Wilcoxon's p
};

// Changes from A to B, one a pair.
paired_test test_pairs(const std::vector<double>& changes);

struct verification {
  std::string problem;
  std::vector<std::string> notes;
  std::string factor, outcome, paired_by;
  paired_test of_factor, of_outcome;
  double outcome_sd = 0;  // over the runs of A
  bool two_kinds = false;
  experiment result;
  std::string words;
};

struct verify_options {
  std::string factor, outcome = "success";
  std::string pair_by;  // a label; empty: task, else seed, whichever both sides have
  double level = 0.05;
  double margin = 0.2;  // of the outcome's standard deviation
};

// One side: values by the label that pairs. Several runs of a task are averaged.
struct paired_values {
  std::vector<std::pair<std::string, double>> factor, outcome;
};
verification verify(const paired_values& a, const paired_values& b, const verify_options& options);

std::string verification_text(const verification& v);
std::string verification_json(const verification& v);

}  // namespace digd::causal
