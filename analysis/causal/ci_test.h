// Tests of conditional independence: is x independent of y, once z is known?
//
// A test belongs to one table, which must outlive it. It may keep scratch space: one thread a test. A variable that
// never changes within what is tested is independent of everything (p = 1, df = 0).
//
//   G², χ²   discrete columns; degrees of freedom corrected for empty margins: a stratum of z adds
//            (rows seen − 1)(columns seen − 1).
//   Fisher z continuous columns: partial correlation, √(n − |z| − 3) · atanh r against the normal.
//   degenerate Gaussian  any mix: normal scores of ranks for continuous columns, indicators of all levels but the
//            first for discrete ones, then the likelihood ratio of two groups of Gaussian columns given a third,
//            with Bartlett's factor (Andrews, Ramsey, Cooper 2019; Bartlett 1938).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "analysis/causal/pdag.h"
#include "analysis/causal/table.h"

namespace digd::causal {

struct test_result {
  double statistic = 0;
  double df = 0;  // 0 for Fisher z, whose reference is the normal
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

std::unique_ptr<ci_test> make_discrete_test(const table& data, discrete_statistic which);
std::unique_ptr<ci_test> make_fisher_z(const table& data);
// For discrete columns too small a stratum cannot arise: the model is Gaussian over the indicators.
std::unique_ptr<ci_test> make_degenerate_gaussian(const table& data);
// The truth instead of data: p is 0 or 1 by d-separation.
std::unique_ptr<ci_test> make_oracle(const pdag& dag);
// G² if all columns are discrete, else degenerate Gaussian.
std::unique_ptr<ci_test> make_default_test(const table& data);

// Upper tails, by Boost.Math. Beyond the range of a double: 0.
double chi_squared_tail(double statistic, double df);
double normal_two_sided(double z);

}  // namespace digd::causal
