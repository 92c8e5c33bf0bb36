// Add and prune by held-out information gain (CAMO, eq. 2 and appendix C.1).
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/causal/boundary.h"
#include "analysis/causal/embedding.h"
#include "analysis/causal/random.h"

namespace digd::causal {

namespace {

std::vector<std::size_t> fold_of_rows(std::size_t rows, std::size_t folds, std::uint64_t seed) {
  std::vector<std::size_t> order(rows), fold(rows);
  std::iota(order.begin(), order.end(), 0);
  splitmix_stream(seed, 23).shuffle(order);
  for (std::size_t i = 0; i < rows; ++i) fold[order[i]] = i % folds;
  return fold;
}

// Intercept and the embedded columns of `given`.
Eigen::MatrixXd design(const embedding& e, const variables& given) {
  std::vector<Eigen::Index> at;
  for (variable v : given) at.insert(at.end(), e.groups[v].begin(), e.groups[v].end());
  Eigen::MatrixXd x(e.columns.rows(), static_cast<Eigen::Index>(at.size()) + 1);
  x.col(0).setOnes();
  for (std::size_t k = 0; k < at.size(); ++k) x.col(static_cast<Eigen::Index>(k) + 1) = e.columns.col(at[k]);
  return x;
}

constexpr double ridge = 1.0;  // penalty, in rows

Eigen::VectorXd weighted_fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& w, const Eigen::VectorXd& y) {
  Eigen::MatrixXd a = x.transpose() * w.asDiagonal() * x;
  a.diagonal().array() += ridge * 1e-3;
  a.diagonal().tail(a.rows() - 1).array() += ridge;
  return a.ldlt().solve(x.transpose() * y);
}

// Fills `loss` for the rows of fold `held_out`: minus the log density under a Gaussian fitted on the other folds.
void gaussian_loss(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const std::vector<std::size_t>& fold,
                   std::size_t held_out, std::vector<double>& loss) {
  const Eigen::Index n = x.rows();
  Eigen::VectorXd w(n);
  for (Eigen::Index r = 0; r < n; ++r) w(r) = fold[static_cast<std::size_t>(r)] != held_out;
  const Eigen::VectorXd beta = weighted_fit(x, w, (w.array() * y.array()).matrix());
  const Eigen::VectorXd off = y - x * beta;
  const double variance =
      std::max(1e-6, (w.array() * off.array().square()).sum() / std::max(1.0, w.sum() - static_cast<double>(x.cols())));
  for (Eigen::Index r = 0; r < n; ++r) {
    if (w(r) == 0)
      loss[static_cast<std::size_t>(r)] = 0.5 * (std::log(2 * M_PI * variance) + off(r) * off(r) / variance);
  }
}

// The same for a discrete target: one logistic model for each level against the rest, probabilities scaled to sum to 1.
void softmax_loss(const Eigen::MatrixXd& x, const column& target, const std::vector<std::size_t>& fold,
                  std::size_t held_out, std::vector<double>& loss) {
  const Eigen::Index n = x.rows();
  const std::size_t models = target.levels == 2 ? 1 : target.levels;
  Eigen::MatrixXd chance(n, static_cast<Eigen::Index>(models));
  Eigen::VectorXd train(n);
  for (Eigen::Index r = 0; r < n; ++r) train(r) = fold[static_cast<std::size_t>(r)] != held_out;
  for (std::size_t level = 0; level < models; ++level) {
    Eigen::VectorXd y(n), beta = Eigen::VectorXd::Zero(x.cols());
    for (Eigen::Index r = 0; r < n; ++r) y(r) = target.codes[static_cast<std::size_t>(r)] == level;
    for (int step = 0; step < 8; ++step) {  // iteratively reweighted least squares
      const Eigen::ArrayXd eta = (x * beta).array().max(-12).min(12);
      const Eigen::ArrayXd p = 1 / (1 + (-eta).exp());
      const Eigen::ArrayXd w = (p * (1 - p)).max(1e-6) * train.array();
      const Eigen::VectorXd next = weighted_fit(x, w.matrix(), (w * eta + (y.array() - p) * train.array()).matrix());
      const double moved = (next - beta).cwiseAbs().maxCoeff();
      beta = next;
      if (moved < 1e-6) break;
    }
    chance.col(static_cast<Eigen::Index>(level)) = (1 / (1 + (-(x * beta).array().max(-12).min(12)).exp())).matrix();
  }
  for (Eigen::Index r = 0; r < n; ++r) {
    if (train(r) != 0) continue;
    const auto code = static_cast<Eigen::Index>(target.codes[static_cast<std::size_t>(r)]);
    const double p =
        models == 1 ? (code == 0 ? chance(r, 0) : 1 - chance(r, 0)) : chance(r, code) / chance.row(r).sum();
    loss[static_cast<std::size_t>(r)] = -std::log(std::max(p, 1e-6));
  }
}

class refiner {
 public:
  refiner(const table& data, variable target, const boundary_options& options)
      : data_(data),
        target_(target),
        options_(options),
        columns_(embed(data)),
        fold_(fold_of_rows(data.rows(), options.folds, options.seed)) {}

  std::vector<double> loss(const variables& given) const {
    const Eigen::MatrixXd x = design(columns_, given);
    std::vector<double> out(data_.rows(), 0.0);
    for (std::size_t f = 0; f < options_.folds; ++f) {
      if (data_[target_].discrete) softmax_loss(x, data_[target_], fold_, f, out);
      else gaussian_loss(x, columns_.columns.col(columns_.groups[target_][0]), fold_, f, out);
    }
    return out;
  }

  refinement run() const {
    refinement out;
    std::vector<double> now = loss({});
    out.uncertainty.push_back(mean(now));
    while (out.members.size() < options_.max_members && add(out.members, now)) out.uncertainty.push_back(mean(now));
    while (prune(out.members, now)) out.uncertainty.push_back(mean(now));
    std::sort(out.members.begin(), out.members.end());
    return out;
  }

 private:
  static double mean(const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / std::max<double>(1, static_cast<double>(x.size()));
  }

  // Mean gain of losses `b` over losses `a` in standard errors; positive if `b` is better.
  static double gain(const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double d = a[i] - b[i];
      sum += d;
      squares += d * d;
    }
    const double m = sum / n, variance = std::max(0.0, squares / n - m * m);
    return variance > 0 ? m / std::sqrt(variance / n) : 0;
  }

  bool add(variables& members, std::vector<double>& now) const {
    variable best = data_.size();
    std::vector<double> best_loss;
    for (variable v = 0; v < data_.size(); ++v) {
      if (v == target_ || std::find(members.begin(), members.end(), v) != members.end()) continue;
      variables with = members;
      with.push_back(v);
      std::vector<double> l = loss(with);
      if (best == data_.size() || mean(l) < mean(best_loss)) best = v, best_loss = std::move(l);
    }
    // The best of many candidates looks good by chance, so it has to gain two standard errors.
    if (best == data_.size() || gain(now, best_loss) < 2) return false;
    members.push_back(best);
    now = std::move(best_loss);
    return true;
  }

  bool prune(variables& members, std::vector<double>& now) const {
    for (std::size_t i = 0; i < members.size(); ++i) {
      variables rest = members;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      std::vector<double> l = loss(rest);
      if (gain(l, now) >= 1) continue;
      members = std::move(rest);
      now = std::move(l);
      return true;
    }
    return false;
  }

  const table& data_;
  variable target_;
  boundary_options options_;
  embedding columns_;
  std::vector<std::size_t> fold_;
};

}  // namespace

refinement add_and_prune(const table& data, variable target, const boundary_options& options) {
  return refiner(data, target, options).run();
}

}  // namespace digd::causal
