// Scores of a variable given its parents; the score of a graph is their sum. Higher is better; natural logarithms.
//
//   BDe   log marginal likelihood of discrete data under a Dirichlet prior (Heckerman, Geiger, Chickering 1995). The
//         prior's network has no edges. Its variables are uniform (BDeu, Buntine 1991), except that a rare binary
//         variable (a value in less than `rare_share` of the rows) has its observed shares
//   BIC   log likelihood − ½ · parameters · ln n, for discrete data or any mix as degenerate Gaussian
//
// Equivalent graphs have the same sum. A score refers to one table, which must outlive it. It keeps scratch space: use
// one score a thread.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "analysis/causal/factors/table.h"

namespace digd::causal {

enum class score_kind : std::uint8_t { automatic, bde, bic };  // automatic: BDe for discrete data, else BIC

struct score_options {
  score_kind kind = score_kind::automatic;
  double sample_size = 1.0;  // BDe: weight of the prior, in rows
  double sparsity = 0.0;     // factor of a prior −ln C(variables − 1, parents) on parent sets
  double penalty = 1.0;      // BIC: factor of its penalty
  double rare_share = 0.1;   // BDe; 0: all variables of the prior's network are uniform
};

class local_score {
 public:
  virtual ~local_score() = default;
  virtual std::size_t size() const = 0;
  // `parents` in ascending order. Successive sets with a common beginning are faster.
  virtual double operator()(variable child, const variables& parents) = 0;
};

std::unique_ptr<local_score> make_score(const table& data, const score_options& options);

// Caches scores; clears the cache once it holds `max_kept`. Refers to the score.
class score_cache {
 public:
  explicit score_cache(local_score& of, std::size_t max_kept = 2'000'000) : of_(of), max_kept_(max_kept) {}
  double operator()(variable child, const variables& parents);
  std::size_t size() const { return of_.size(); }
  local_score& source() { return of_; }

 private:
  local_score& of_;
  std::size_t max_kept_;
  std::string key_;
  boost::unordered_flat_map<std::string, double> known_;
};

}  // namespace digd::causal
