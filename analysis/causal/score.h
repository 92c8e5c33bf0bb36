// Scores of a variable given its parents: what searches add up over a graph. Higher is better; natural logarithms.
//
//   BDe   log marginal likelihood of discrete data under a Dirichlet prior, uniform over the parents' configurations
//         (Heckerman, Geiger, Chickering 1995; BDeu, Buntine 1991).
//   BIC   log likelihood − ½ · parameters · ln n: discrete data, or any mix as degenerate Gaussian.
//
// A score belongs to one table, which must outlive it; scratch inside: one thread each. Equivalent graphs get the
// same sum.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "analysis/causal/table.h"

namespace digd::causal {

enum class score_kind : std::uint8_t { automatic, bde, bic };  // automatic: BDe for discrete data, else BIC

struct score_options {
  score_kind kind = score_kind::automatic;
  double sample_size = 1.0;  // BDe: the prior counts as so many rows
  double sparsity = 0.0;  // times −ln C(variables − 1, parents): a prior that counts parent sets of one size together
  double penalty = 1.0;  // BIC: times its penalty
};

class local_score {
 public:
  virtual ~local_score() = default;
  virtual std::size_t size() const = 0;
  // `parents` in ascending order. Sets asked for one after another that begin alike are faster.
  virtual double operator()(variable child, const variables& parents) = 0;
};

std::unique_ptr<local_score> make_score(const table& data, const score_options& options);

// Remembers what was asked; forgets everything once `most` scores are kept.
class score_cache {
 public:
  explicit score_cache(local_score& of, std::size_t most = 2'000'000) : of_(of), most_(most) {}
  double operator()(variable child, const variables& parents);
  std::size_t size() const { return of_.size(); }
  local_score& source() { return of_; }

 private:
  local_score& of_;
  std::size_t most_;
  std::string key_;
  boost::unordered_flat_map<std::string, double> known_;
};

}  // namespace digd::causal
