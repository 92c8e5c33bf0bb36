#include "analysis/causal/embedding.h"

#include <algorithm>
#include <cmath>

namespace digd::causal {

namespace {

constexpr double tolerance = 1e-9;  // relative to a variance of 1

void standardise(Eigen::Ref<Eigen::VectorXd> x) {
  const auto n = static_cast<double>(x.size());
  x.array() -= x.sum() / n;
  const double sd = std::sqrt(x.squaredNorm() / n);
  if (sd > 1e-12) x /= sd;
  else x.setZero();
}

std::size_t commonest(const column& c) {
  std::vector<std::size_t> count(c.levels, 0);
  for (std::uint8_t code : c.codes) ++count[code];
  return static_cast<std::size_t>(std::max_element(count.begin(), count.end()) - count.begin());
}

// The lower factor of a covariance, by rows. Pivot j: the variance of column j that the columns before it leave; 0 if
// that is below the tolerance.
struct cholesky {
  std::vector<double> rows, pivots;
};

// Valid until the thread's next call.
const cholesky& factorise(const Eigen::MatrixXd& covariance, const std::vector<Eigen::Index>& at) {
  thread_local cholesky out;
  const std::size_t m = at.size();
  out.rows.assign(m * m, 0.0);
  out.pivots.assign(m, 0.0);
  for (std::size_t j = 0; j < m; ++j) {
    double* row = &out.rows[j * m];
    double pivot = covariance(at[j], at[j]);
    for (std::size_t k = 0; k < j; ++k) {
      const double* above = &out.rows[k * m];
      if (above[k] == 0) continue;
      double s = covariance(at[j], at[k]);
      for (std::size_t i = 0; i < k; ++i) s -= row[i] * above[i];
      row[k] = s / above[k];
      pivot -= row[k] * row[k];
    }
    if (pivot <= tolerance) continue;
    row[j] = std::sqrt(pivot);
    out.pivots[j] = pivot;
  }
  return out;
}

std::vector<Eigen::Index> columns_of(const embedding& e, const variables& of) {
  std::vector<Eigen::Index> at;
  for (variable v : of) at.insert(at.end(), e.groups[v].begin(), e.groups[v].end());
  return at;
}

}  // namespace

embedding embed(const table& data) {
  embedding out;
  out.rows = data.rows();
  Eigen::Index width = 0;
  for (const column& c : data.columns()) {
    const auto own = static_cast<Eigen::Index>(c.discrete ? std::max<std::size_t>(c.levels, 1) - 1 : 1);
    std::vector<Eigen::Index> group;
    for (Eigen::Index k = 0; k < own; ++k) group.push_back(width++);
    out.groups.push_back(std::move(group));
  }
  out.columns.resize(static_cast<Eigen::Index>(data.rows()), width);
  for (variable v = 0; v < data.size(); ++v) {
    const column& c = data[v];
    if (c.discrete) {
      const std::size_t left_out = commonest(c);
      std::size_t k = 0;
      for (std::size_t level = 0; level < c.levels; ++level) {
        if (level == left_out) continue;
        auto x = out.columns.col(out.groups[v][k++]);
        for (std::size_t r = 0; r < data.rows(); ++r) x(static_cast<Eigen::Index>(r)) = c.codes[r] == level;
      }
    } else {
      const std::vector<double> scores = normal_scores(c.values);
      out.columns.col(out.groups[v][0]) =
          Eigen::Map<const Eigen::VectorXd>(scores.data(), static_cast<Eigen::Index>(scores.size()));
    }
    for (Eigen::Index k : out.groups[v]) standardise(out.columns.col(k));
  }
  out.covariance = out.columns.transpose() * out.columns / std::max<double>(1, static_cast<double>(out.rows));
  return out;
}

gaussian_fit embedding::residual(variable v, const variables& given) const {
  std::vector<Eigen::Index> at = columns_of(*this, given);
  const std::size_t first = at.size();
  at.insert(at.end(), groups[v].begin(), groups[v].end());
  const cholesky& whole = factorise(covariance, at);
  gaussian_fit out;
  for (std::size_t j = 0; j < at.size(); ++j) {
    if (whole.pivots[j] == 0) continue;
    if (j < first) {
      ++out.given;
    } else {
      ++out.rank;
      out.log_det += std::log(whole.pivots[j]);
    }
  }
  return out;
}

}  // namespace digd::causal
