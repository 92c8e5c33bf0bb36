// Columns of any kind as Gaussian columns, with their covariance: the input of the mixed-data test and score.
//
// A continuous column becomes one Gaussian column, the normal scores of its ranks. A discrete column with k levels
// becomes k − 1 indicators; the most common level has none. All columns are centred and scaled to variance 1.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "analysis/causal/factors/table.h"

namespace digd::causal {

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

  // A pivot below a tolerance counts as zero.
  gaussian_fit residual(variable v, const variables& given) const;
};

embedding embed(const table& data);

}  // namespace digd::causal
