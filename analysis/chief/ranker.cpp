#include "analysis/chief/ranker.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace digd::chief {

namespace {

using observation = std::pair<Eigen::MatrixXd, Eigen::Index>;  // candidates × features, and the index of the true one

Eigen::MatrixXd matrix(const choice& c, const std::vector<std::size_t>& features) {
  Eigen::MatrixXd x(c.rows.size(), features.size());
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    for (std::size_t k = 0; k < features.size(); ++k) x(i, k) = c.rows[i][features[k]];
  }
  return x;
}

Eigen::VectorXd softmax(const Eigen::VectorXd& scores) {
  Eigen::VectorXd p = (scores.array() - scores.maxCoeff()).exp();
  return p / p.sum();
}

Eigen::VectorXd newton(const std::vector<observation>& observations, std::size_t features, double lambda) {
  Eigen::VectorXd w = Eigen::VectorXd::Zero(features);
  for (int round = 0; round < 50; ++round) {
    Eigen::VectorXd gradient = -lambda * w;
    Eigen::MatrixXd curvature = lambda * Eigen::MatrixXd::Identity(features, features);
    for (const auto& [x, truth] : observations) {
      const Eigen::VectorXd p = softmax(x * w);
      const Eigen::VectorXd mean = x.transpose() * p;
      gradient += x.row(truth).transpose() - mean;
      curvature += x.transpose() * p.asDiagonal() * x - mean * mean.transpose();
    }
    Eigen::VectorXd step = curvature.ldlt().solve(gradient);
    const double longest = step.cwiseAbs().maxCoeff();
    if (longest > 2.0) step *= 2.0 / longest;  // the problem is concave, but Newton may overshoot far from the optimum
    w += step;
    if (longest < 1e-9) break;
  }
  return w;
}

bool contradicts(leaning weighs, double weight) {
  return (weighs == leaning::accuses && weight < 0) || (weighs == leaning::excuses && weight > 0);
}

}  // namespace

std::vector<double> fit(const std::vector<choice>& cases, const std::vector<leaning>& features, double lambda) {
  std::vector<double> weights(features.size(), 0.0);
  std::vector<std::size_t> free(features.size());  // not fixed at zero
  std::iota(free.begin(), free.end(), std::size_t{0});
  while (!free.empty()) {
    std::vector<observation> observations;
    for (const choice& c : cases) {
      if (c.truth >= 0 && c.rows.size() > 1) observations.emplace_back(matrix(c, free), c.truth);
    }
    if (observations.empty()) return weights;
    const Eigen::VectorXd w = newton(observations, free.size(), lambda);
    std::fill(weights.begin(), weights.end(), 0.0);
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < free.size(); ++k) {
      if (contradicts(features[free[k]], w[k])) continue;
      weights[free[k]] = w[k];
      kept.push_back(free[k]);
    }
    if (kept.size() == free.size()) return weights;
    free = std::move(kept);
  }
  return weights;
}

std::vector<double> probabilities(const std::vector<double>& weights, const std::vector<std::vector<double>>& rows) {
  std::vector<double> p;
  for (const auto& row : rows) {
    double score = 0;
    for (std::size_t k = 0; k < row.size() && k < weights.size(); ++k) score += weights[k] * row[k];
    p.push_back(score);
  }
  if (p.empty()) return p;
  const double highest = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& score : p) sum += score = std::exp(score - highest);
  for (double& score : p) score /= sum;
  return p;
}

}  // namespace digd::chief
