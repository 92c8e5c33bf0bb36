// Tests of conditional independence: is x independent of y given z?
//
//   G², χ²                discrete columns; degrees of freedom are corrected for empty margins: each stratum of z adds
//                         (rows seen − 1)(columns seen − 1)
//   degenerate Gaussian   any mix: normal scores of ranks for continuous columns, indicators of all levels but one
//                         for discrete ones, then the likelihood ratio of two groups of Gaussian columns given a
//                         third, with Bartlett's factor (Andrews, Ramsey, Cooper 2019; Bartlett 1938)
//
// A test refers to one table, which must outlive it. It keeps scratch space: use one test a thread. A variable that is
// constant in the rows tested is independent of everything (p = 1, df = 0).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "analysis/causal/factors/table.h"
#include "analysis/causal/pdag.h"

namespace digd::causal {

struct test_result {
  double statistic = 0;
  double df = 0;
  double p = 1;
};

class ci_test {
 public:
  virtual ~ci_test() = default;
  virtual std::size_t size() const = 0;  // variables
  virtual std::string_view name() const = 0;
  virtual test_result test(variable x, variable y, const variables& z) = 0;
  std::uint64_t count() const { return count_; }  // tests made so far

 protected:
  std::uint64_t count_ = 0;
};

enum class discrete_statistic : std::uint8_t { g_squared, chi_squared };

std::unique_ptr<ci_test> make_discrete_test(const table& data, discrete_statistic kind);
std::unique_ptr<ci_test> make_degenerate_gaussian(const table& data);
// Answers from the true graph instead of data: p is 0 or 1 by d-separation.
std::unique_ptr<ci_test> make_oracle(const pdag& dag);
// G² if all columns are discrete, else degenerate Gaussian.
std::unique_ptr<ci_test> make_default_test(const table& data);

// Tail probabilities; 0 where they are below the range of a double.
double chi_squared_tail(double statistic, double df);
double normal_two_sided(double z);

}  // namespace digd::causal
