#include "analysis/causal/score.h"

#include <algorithm>
#include <cmath>

#include "analysis/causal/embedding.h"

namespace digd::causal {

namespace {

// ln Γ(x) for x > 0, to 1e-12, by Stirling's series. std::lgamma is not thread-safe: it writes a global sign.
double log_gamma(double x) {
  double shift = 1;
  while (x < 10) shift *= x++;
  const double y = 1 / (x * x);
  const double series = (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y / 1188)))) / x;
  return (x - 0.5) * std::log(x) - x + 0.91893853320467274178 + series - std::log(shift);
}

double log_choose(double n, double k) { return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1); }

// Numbers the configurations of a set of columns in each row. Reuses the work for a common beginning of two sets.
class configurations {
 public:
  explicit configurations(const table& data) : data_(data) {}

  struct level {
    std::vector<std::uint16_t> index;
    std::size_t count = 1;
  };

  const level& of(const variables& set) {
    if (levels_.empty()) levels_.push_back({std::vector<std::uint16_t>(data_.rows(), 0), 1});
    std::size_t same = 0;
    while (same < at_.size() && same < set.size() && at_[same] == set[same]) ++same;
    if (levels_.size() < set.size() + 1) levels_.resize(set.size() + 1);
    for (std::size_t k = same; k < set.size(); ++k) refine(levels_[k], data_[set[k]], levels_[k + 1]);
    at_ = set;
    return levels_[set.size()];
  }

 private:
  void refine(const level& from, const column& c, level& to) {
    rename_.assign(from.count * c.levels, unseen);
    to.index.resize(data_.rows());
    std::uint32_t next = 0;
    for (std::size_t r = 0; r < data_.rows(); ++r) {
      std::uint32_t& name = rename_[from.index[r] * c.levels + c.codes[r]];
      if (name == unseen) name = next++;
      to.index[r] = static_cast<std::uint16_t>(name);
    }
    to.count = next;
  }

  static constexpr std::uint32_t unseen = ~std::uint32_t{0};
  const table& data_;
  std::vector<level> levels_;  // levels_[k]: for the first k columns of at_
  variables at_;
  std::vector<std::uint32_t> rename_;
};

class discrete_score final : public local_score {
 public:
  discrete_score(const table& data, const score_options& options)
      : data_(data), options_(options), configurations_(data) {
    for (variable v = 0; v < data.size(); ++v) shares_.push_back(shares_of(v));
  }
  std::size_t size() const override { return data_.size(); }

  double operator()(variable child, const variables& parents) override {
    const configurations::level& in = configurations_.of(parents);
    const column& c = data_[child];
    const std::size_t r = c.levels;
    cells_.assign(in.count * r, 0);
    for (std::size_t row = 0; row < data_.rows(); ++row) ++cells_[in.index[row] * r + c.codes[row]];
    double total = 1;
    for (variable p : parents) total *= static_cast<double>(data_[p].levels);
    const double prior = options_.sparsity > 0 ? options_.sparsity * log_choose(static_cast<double>(size() - 1),
                                                                                static_cast<double>(parents.size()))
                                               : 0;
    return (options_.kind == score_kind::bic ? bic(in.count, r, total) : bde(in, child, parents)) - prior;
  }

 private:
  // The share of each category, as the prior expects it: equal, or as observed for a rare binary variable. Under equal
  // shares a rare value is so unexpected that every further parent, which thins out the prior, raises the score.
  std::vector<double> shares_of(variable v) const {
    const column& c = data_[v];
    std::vector<double> out(c.levels, 0.5);
    for (std::size_t row = 0; row < data_.rows(); ++row) out[c.codes[row]] += 1;
    for (double& x : out) x /= static_cast<double>(data_.rows()) + 0.5 * static_cast<double>(c.levels);
    if (c.levels == 2 && std::min(out[0], out[1]) < options_.rare_share) return out;
    return std::vector<double>(c.levels, 1.0 / static_cast<double>(c.levels));
  }

  double bde(const configurations::level& in, variable child, const variables& parents) {
    const std::size_t r = data_[child].levels;
    std::vector<double> of(in.count, 0.0);  // the prior's weight of each configuration, in rows
    for (std::size_t row = 0; row < data_.rows(); ++row) {
      double& weight = of[in.index[row]];
      if (weight > 0) continue;
      weight = options_.sample_size;
      for (variable p : parents) weight *= shares_[p][data_[p].codes[row]];
    }
    double sum = 0;
    for (std::size_t j = 0; j < in.count; ++j) {
      const double of_row = of[j], start_row = log_gamma(of_row);
      std::uint32_t total = 0;
      for (std::size_t k = 0; k < r; ++k) {
        const std::uint32_t n = cells_[j * r + k];
        if (n == 0) continue;
        total += n;
        const double of_cell = of_row * shares_[child][k];
        sum += log_gamma(of_cell + n) - log_gamma(of_cell);
      }
      if (total > 0) sum += start_row - log_gamma(of_row + total);
    }
    return sum;
  }

  double bic(std::size_t count, std::size_t r, double configurations_possible) const {
    double sum = 0;
    for (std::size_t j = 0; j < count; ++j) {
      double total = 0;
      for (std::size_t k = 0; k < r; ++k) {
        const double n = cells_[j * r + k];
        if (n > 0) sum += n * std::log(n);
        total += n;
      }
      if (total > 0) sum -= total * std::log(total);
    }
    const double parameters = configurations_possible * static_cast<double>(r - 1);
    return sum - options_.penalty * 0.5 * parameters * std::log(static_cast<double>(data_.rows()));
  }

  const table& data_;
  score_options options_;
  std::vector<std::vector<double>> shares_;  // by variable and category
  configurations configurations_;
  std::vector<std::uint32_t> cells_;
};

class gaussian_score final : public local_score {
 public:
  gaussian_score(const table& data, const score_options& options) : columns_(embed(data)), options_(options) {}
  std::size_t size() const override { return columns_.groups.size(); }

  double operator()(variable child, const variables& parents) override {
    const gaussian_fit fit = columns_.residual(child, parents);
    const auto n = static_cast<double>(columns_.rows), q = static_cast<double>(fit.rank);
    const double parameters = q * static_cast<double>(fit.given) + q * (q + 1) / 2;
    const double prior = options_.sparsity > 0 ? options_.sparsity * log_choose(static_cast<double>(size() - 1),
                                                                                static_cast<double>(parents.size()))
                                               : 0;
    return -0.5 * n * fit.log_det - options_.penalty * 0.5 * parameters * std::log(n) - prior;
  }

 private:
  embedding columns_;
  score_options options_;
};

}  // namespace

std::unique_ptr<local_score> make_score(const table& data, const score_options& options) {
  if (!data.all_discrete()) return std::make_unique<gaussian_score>(data, options);
  return std::make_unique<discrete_score>(data, options);
}

double score_cache::operator()(variable child, const variables& parents) {
  key_.clear();
  key_ += static_cast<char>(child);
  key_ += static_cast<char>(child >> 8);
  for (variable p : parents) {
    key_ += static_cast<char>(p);
    key_ += static_cast<char>(p >> 8);
  }
  if (const auto known = known_.find(key_); known != known_.end()) return known->second;
  if (known_.size() >= max_kept_) known_.clear();
  const double value = of_(child, parents);
  known_.emplace(key_, value);
  return value;
}

}  // namespace digd::causal
