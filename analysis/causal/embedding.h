// Columns of any kind as Gaussian columns, and their covariance: what the mixed-data test and score work on.
//
// A continuous column becomes one, of normal scores or as it is; a discrete one with k levels becomes k − 1
// indicators (the commonest level is left out). All are centred and scaled to variance 1.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <vector>

#include "analysis/causal/table.h"

namespace digd::causal {

enum class embedding_kind : std::uint8_t { raw, rank_scores };

// A group of columns regressed on others: log determinant of what is left of its covariance.
struct gaussian_fit {
  double log_det = 0;
  std::size_t rank = 0;   // of what is left: columns not explained away without rest
  std::size_t given = 0;  // columns regressed on, without those that repeat others
};

struct embedding {
  std::size_t rows = 0;
  std::vector<std::vector<Eigen::Index>> groups;  // by variable: its columns
  Eigen::MatrixXd columns;                        // rows × all columns
  Eigen::MatrixXd covariance;                     // divided by the number of rows

  Eigen::MatrixXd block(const variables& a, const variables& b) const;
  // Pivots below a tolerance count as explained away, on either side.
  gaussian_fit residual(variable v, const variables& given) const;
};

embedding embed(const table& data, embedding_kind embedding_kind);

}  // namespace digd::causal
