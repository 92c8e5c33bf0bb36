#include "analysis/chief/ranker.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace digd::chief {

namespace {

Eigen::MatrixXd matrix(const choice& c, std::size_t features) {
  Eigen::MatrixXd x(c.rows.size(), features);
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    for (std::size_t k = 0; k < features; ++k) x(i, k) = c.rows[i][k];
  }
  return x;
}

Eigen::VectorXd softmax(const Eigen::VectorXd& scores) {
  Eigen::VectorXd p = (scores.array() - scores.maxCoeff()).exp();
  return p / p.sum();
}

}  // namespace

std::vector<double> fit(const std::vector<choice>& cases, std::size_t features, double lambda) {
  std::vector<std::pair<Eigen::MatrixXd, Eigen::Index>> used;
  for (const choice& c : cases) {
    if (c.truth >= 0 && c.rows.size() > 1) used.emplace_back(matrix(c, features), c.truth);
  }
  Eigen::VectorXd w = Eigen::VectorXd::Zero(features);
  for (int round = 0; round < 50 && !used.empty(); ++round) {
    Eigen::VectorXd gradient = -lambda * w;
    Eigen::MatrixXd curvature = lambda * Eigen::MatrixXd::Identity(features, features);
    for (const auto& [x, truth] : used) {
      const Eigen::VectorXd p = softmax(x * w);
      const Eigen::VectorXd mean = x.transpose() * p;
      gradient += x.row(truth).transpose() - mean;
      curvature += x.transpose() * p.asDiagonal() * x - mean * mean.transpose();
    }
    Eigen::VectorXd step = curvature.ldlt().solve(gradient);
    const double longest = step.cwiseAbs().maxCoeff();
    if (longest > 2.0) step *= 2.0 / longest;  // concave, but far from the optimum Newton may overshoot
    w += step;
    if (longest < 1e-9) break;
  }
  return {w.data(), w.data() + w.size()};
}

std::vector<double> probabilities(const std::vector<double>& weights, const std::vector<std::vector<double>>& rows) {
  std::vector<double> p;
  for (const auto& row : rows) {
    double score = 0;
    for (std::size_t k = 0; k < row.size() && k < weights.size(); ++k) score += weights[k] * row[k];
    p.push_back(score);
  }
  if (p.empty()) return p;
  const double most = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& score : p) sum += score = std::exp(score - most);
  for (double& score : p) score /= sum;
  return p;
}

}  // namespace digd::chief
