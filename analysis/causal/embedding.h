// Columns of any kind as Gaussian columns, with their covariance: the input of the mixed-data test and score.
//
// A continuous column becomes one Gaussian column, either unchanged or as normal scores of its ranks. A discrete column
// with k levels becomes k − 1 indicators (`rank_scores`; the most common level has none) or one column of codes
// (`raw`). All columns are centred and scaled to variance 1.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/causal/factors/table.h"

namespace digd::causal {

enum class embedding_kind : std::uint8_t { raw, rank_scores };

// A group of columns regressed on others. `log_det`: log determinant of the residual covariance.
struct gaussian_fit {
  double log_det = 0;
  std::size_t rank = 0;   // of the residual covariance: columns that the others do not determine
  std::size_t given = 0;  // regressors, without linearly dependent ones
};

struct embedding {
  std::size_t rows = 0;
  std::vector<std::vector<Eigen::Index>> groups;  // by variable: indices of its columns
  Eigen::MatrixXd columns;                        // rows × columns
  Eigen::MatrixXd covariance;                     // columns × columns; divided by the number of rows

  // A pivot below a tolerance counts as zero, here and in the next function.
  gaussian_fit residual(variable v, const variables& given) const;
  // Of two variables with one column each. nullopt if the others determine one of them.
  std::optional<double> partial_correlation(variable x, variable y, const variables& given) const;
};

embedding embed(const table& data, embedding_kind embedding_kind);

}  // namespace digd::causal
