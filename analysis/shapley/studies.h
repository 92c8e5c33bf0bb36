// How good the estimators are and how fast: the tables of docs/shapley.md, each printed by a command.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/shapley/estimate.h"

namespace digd::shapley {

// A game for each seed.
struct study_case {
  std::string name;
  std::function<std::unique_ptr<game>(std::uint64_t seed)> make;
};

// How far an estimate is from the truth.
struct distance {
  double cosine = 0;       // 0 where one of the two is all zero
  double relative_l2 = 0;  // |φ̂ - φ|/|φ|
  double top = 0;          // share of the truth's k highest that are among the estimate's
};
distance compare(const std::vector<double>& estimate, const std::vector<double>& truth, std::size_t k);

struct study_options {
  std::size_t runs = 10;  // seeds 1 …: of the trajectory and of the sampling
  std::size_t top = 5;    // k
  std::vector<std::uint64_t> samples{10, 100, 1'000, 10'000};
  std::vector<std::uint64_t> budgets{2'000, 20'000};  // evaluations
  std::uint64_t reference_samples = 20'000;           // where the truth cannot be enumerated
  run_control control;
};

// After the paper's Table 1: Algorithm 1 against exact values.
std::string accuracy_table(const std::vector<study_case>& cases, const study_options& options);
// All estimators at equal evaluations; the paired difference of the default and plain permutation with its 95%
// interval.
std::string estimator_table(const std::vector<study_case>& cases, const study_options& options);
// After the paper's Table 3: risk drops by method.
std::string faithfulness_table(const std::vector<study_case>& cases, std::uint64_t samples,
                               const study_options& options);
// After the paper's Table 2: the five metrics.
std::string metrics_table(const std::vector<study_case>& cases, std::uint64_t samples, const study_options& options);
// Marginal contributions a second, exact values at 4 × 5, 1,000 permutations at the paper's sizes; medians of three.
std::string speed_table(bool large, const run_control& control);

// The scenarios at the sizes of the paper: 4 × 5 and 10 × 34, 10 × 27, 20 × 21.
std::vector<study_case> small_cases();
std::vector<study_case> paper_cases();

}  // namespace digd::shapley
