// The quality and speed of the estimators: the tables of docs/shapley.md, each printed by a command.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/shapley/estimate.h"

namespace digd::shapley {

// A named game that is generated for each seed.
struct study_case {
  std::string name;
  std::function<std::unique_ptr<game>(std::uint64_t seed)> make;
};

// The distance between an estimate and the truth.
struct distance {
  double cosine = 0;       // 0 if either is all zero
  double relative_l2 = 0;  // |φ̂ - φ|/|φ|
  double top = 0;          // share of the k highest true values that are among the k highest estimates
};
distance compare(const std::vector<double>& estimate, const std::vector<double>& truth, std::size_t k);

struct study_options {
  std::size_t runs = 10;  // seeds 1 … runs, for the trajectory and for the sampling
  std::size_t top = 5;    // k
  std::vector<std::uint64_t> samples{10, 100, 1'000, 10'000};
  std::vector<std::uint64_t> budgets{2'000, 20'000};  // evaluations
  std::uint64_t reference_samples = 20'000;           // for the truth where it cannot be enumerated
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
