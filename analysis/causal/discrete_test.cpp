// G² and χ²: one pass over the rows fills a table of counts, one over the table makes the statistic.
#include <algorithm>
#include <cmath>

#include "analysis/causal/ci_test.h"

namespace digd::causal {

namespace {

// The strata of z, numbered as they occur; kept while tests ask for the same z one after another.
class strata {
 public:
  explicit strata(const table& data) : data_(data), index_(data.rows()) {}

  const std::vector<std::uint16_t>& index() const { return index_; }
  std::size_t count() const { return count_; }

  void set(const variables& z) {
    if (known_ && z == of_) return;
    std::fill(index_.begin(), index_.end(), 0);
    count_ = 1;
    for (variable v : z) refine(data_[v]);
    of_ = z;
    known_ = true;
  }

 private:
  void refine(const column& c) {
    const std::size_t wide = count_ * c.levels;
    rename_.assign(wide, unseen);
    std::uint32_t next = 0;
    const std::size_t n = index_.size();
    for (std::size_t r = 0; r < n; ++r) {
      std::uint32_t& name = rename_[index_[r] * c.levels + c.codes[r]];
      if (name == unseen) name = next++;
      index_[r] = static_cast<std::uint16_t>(name);
    }
    count_ = next;
  }

  static constexpr std::uint32_t unseen = ~std::uint32_t{0};
  const table& data_;
  std::vector<std::uint16_t> index_;  // at most 65,536 rows differ; larger tables are refused by the factory
  std::vector<std::uint32_t> rename_;
  std::size_t count_ = 1;
  variables of_;
  bool known_ = false;
};

class discrete_test final : public ci_test {
 public:
  discrete_test(const table& data, discrete_statistic kind) : data_(data), kind_(kind), strata_(data) {
    logs_.resize(data.rows() + 1, 0.0);
    for (std::size_t k = 1; k < logs_.size(); ++k) logs_[k] = static_cast<double>(k) * std::log(static_cast<double>(k));
  }
  std::size_t size() const override { return data_.size(); }
  std::string_view name() const override {
    return kind_ == discrete_statistic::g_squared ? "g-squared" : "chi-squared";
  }

  test_result test(variable x, variable y, const variables& z) override {
    ++count_;
    sorted_ = z;
    std::sort(sorted_.begin(), sorted_.end());
    strata_.set(sorted_);
    count_cells(data_[x], data_[y]);
    const std::size_t a = data_[x].levels, b = data_[y].levels;
    double statistic = 0, df = 0;
    for (std::size_t s = 0; s < strata_.count(); ++s) add_stratum(&cells_[s * a * b], a, b, statistic, df);
    statistic = std::max(0.0, statistic);
    return {statistic, df, chi_squared_tail(statistic, df)};
  }

 private:
  void count_cells(const column& x, const column& y) {
    const std::size_t a = x.levels, b = y.levels, n = data_.rows();
    const std::uint8_t* xs = x.codes.data();
    const std::uint8_t* ys = y.codes.data();
    const std::uint16_t* zs = strata_.index().data();
    const auto wide = static_cast<std::uint32_t>(a * b), narrow = static_cast<std::uint32_t>(b);
    // Even and odd rows count into two tables, so that increments of the same cell do not wait for each other.
    cells_.assign(2 * strata_.count() * wide, 0);
    std::uint32_t* even = cells_.data();
    std::uint32_t* odd = even + strata_.count() * wide;
    std::size_t r = 0;
    for (; r + 1 < n; r += 2) {
      ++even[zs[r] * wide + xs[r] * narrow + ys[r]];
      ++odd[zs[r + 1] * wide + xs[r + 1] * narrow + ys[r + 1]];
    }
    if (r < n) ++even[zs[r] * wide + xs[r] * narrow + ys[r]];
    for (std::size_t i = 0; i < strata_.count() * wide; ++i) even[i] += odd[i];
  }

  void add_stratum(const std::uint32_t* cells, std::size_t a, std::size_t b, double& statistic, double& df) {
    std::uint32_t rows[column::max_levels] = {}, columns[column::max_levels] = {}, total = 0;
    for (std::size_t i = 0; i < a; ++i) {
      for (std::size_t j = 0; j < b; ++j) {
        rows[i] += cells[i * b + j];
        columns[j] += cells[i * b + j];
      }
      total += rows[i];
    }
    if (total == 0) return;
    std::size_t seen_rows = 0, seen_columns = 0;
    for (std::size_t i = 0; i < a; ++i) seen_rows += rows[i] > 0;
    for (std::size_t j = 0; j < b; ++j) seen_columns += columns[j] > 0;
    if (seen_rows < 2 || seen_columns < 2) return;
    df += static_cast<double>((seen_rows - 1) * (seen_columns - 1));
    if (kind_ == discrete_statistic::g_squared) {
      double g = logs_[total];
      for (std::size_t i = 0; i < a * b; ++i) g += logs_[cells[i]];
      for (std::size_t i = 0; i < a; ++i) g -= logs_[rows[i]];
      for (std::size_t j = 0; j < b; ++j) g -= logs_[columns[j]];
      statistic += 2 * g;
      return;
    }
    for (std::size_t i = 0; i < a; ++i) {
      for (std::size_t j = 0; j < b; ++j) {
        if (rows[i] == 0 || columns[j] == 0) continue;
        const double expected = static_cast<double>(rows[i]) * columns[j] / total;
        const double off = cells[i * b + j] - expected;
        statistic += off * off / expected;
      }
    }
  }

  const table& data_;
  discrete_statistic kind_;
  strata strata_;
  variables sorted_;
  std::vector<std::uint32_t> cells_;
  std::vector<double> logs_;  // k ln k
};

}  // namespace

std::unique_ptr<ci_test> make_discrete_test(const table& data, discrete_statistic kind) {
  return std::make_unique<discrete_test>(data, kind);
}

}  // namespace digd::causal
