#include "analysis/causal/gate.h"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "analysis/causal/embedding.h"
#include "analysis/causal/random.h"

namespace digd::causal {

namespace {

// An orthonormal basis of a variable's columns, so that association is a matrix product. The rank may be below the
// width.
Eigen::MatrixXd orthonormal(const embedding& e, variable v) {
  Eigen::MatrixXd x(e.columns.rows(), static_cast<Eigen::Index>(e.groups[v].size()));
  Eigen::Index rank = 0;
  for (Eigen::Index k : e.groups[v]) {
    Eigen::VectorXd c = e.columns.col(k);
    const double before = c.norm();
    for (Eigen::Index j = 0; j < rank; ++j) c -= x.col(j).dot(c) * x.col(j);
    for (Eigen::Index j = 0; j < rank; ++j) c -= x.col(j).dot(c) * x.col(j);
    if (before == 0 || c.norm() < 1e-6 * before) continue;
    x.col(rank++) = c.normalized();
  }
  return x.leftCols(rank);
}

class gate {
 public:
  gate(const table& data, variable target, const variables& factors, const gate_options& options)
      : options_(options), factors_(factors), columns_(embed(data)), outcome_(orthonormal(columns_, target)) {
    for (variable f : factors) bases_.push_back(orthonormal(columns_, f));
  }

  gate_result run(std::size_t size) {
    gate_result out;
    out.adjusted.assign(size, 1.0);
    out.single.assign(size, 1.0);
    const std::vector<double> own = strengths(outcome_);
    std::vector<double> best;
    for (std::size_t b = 0; b < options_.permutations; ++b) {
      const std::vector<double> s = strengths(permuted(b));
      best.push_back(s.empty() ? 0 : *std::max_element(s.begin(), s.end()));
    }
    std::sort(best.begin(), best.end());
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      const auto as_strong =
          static_cast<double>(best.end() - std::lower_bound(best.begin(), best.end(), own[i] - 1e-12));
      out.adjusted[factors_[i]] = (1 + as_strong) / (1 + static_cast<double>(best.size()));
      out.single[factors_[i]] = std::exp(-own[i]);
      out.p = std::min(out.p, out.adjusted[factors_[i]]);
    }
    out.open = out.p <= options_.level;
    return out;
  }

 private:
  // −ln p of the likelihood ratio test of each factor with the outcome; comparable across degrees of freedom.
  std::vector<double> strengths(const Eigen::MatrixXd& y) const {
    std::vector<double> out;
    const auto n = static_cast<double>(y.rows());
    for (const Eigen::MatrixXd& x : bases_) {
      const Eigen::MatrixXd c = x.transpose() * y;
      const auto p = static_cast<double>(x.cols()), q = static_cast<double>(y.cols());
      if (p == 0 || q == 0) {
        out.push_back(0);
        continue;
      }
      Eigen::MatrixXd left = Eigen::MatrixXd::Identity(c.cols(), c.cols()) - c.transpose() * c;
      const double det = std::max(left.determinant(), 1e-300);
      const double statistic = -(n - 1 - (p + q + 1) / 2) * std::log(det);
      out.push_back(minus_log_tail(statistic, p * q));
    }
    return out;
  }

  // −ln of the upper tail of χ²; an asymptotic formula where the tail is below the range of a double.
  static double minus_log_tail(double statistic, double df) {
    if (statistic <= 0) return 0;
    const double a = df / 2, x = statistic / 2;
    if (x < 300 + a) return -std::log(std::max(boost::math::gamma_q(a, x), 1e-300));
    return x - (a - 1) * std::log(x) + std::lgamma(a);
  }

  Eigen::MatrixXd permuted(std::size_t b) const {
    std::map<std::uint32_t, std::vector<std::size_t>> groups;
    const auto n = static_cast<std::size_t>(outcome_.rows());
    for (std::size_t r = 0; r < n; ++r) groups[options_.cluster.empty() ? 0 : options_.cluster[r]].push_back(r);
    splitmix_stream chance(options_.seed, 5000 + b);
    Eigen::MatrixXd y(outcome_.rows(), outcome_.cols());
    for (const auto& [name, rows] : groups) {
      std::vector<std::size_t> to = rows;
      chance.shuffle(to);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        y.row(static_cast<Eigen::Index>(to[i])) = outcome_.row(static_cast<Eigen::Index>(rows[i]));
      }
    }
    return y;
  }

  const gate_options& options_;
  const variables& factors_;
  embedding columns_;
  Eigen::MatrixXd outcome_;
  std::vector<Eigen::MatrixXd> bases_;
};

}  // namespace

gate_result permutation_gate(const table& data, variable target, const variables& factors,
                             const gate_options& options) {
  return gate(data, target, factors, options).run(data.size());
}

}  // namespace digd::causal
