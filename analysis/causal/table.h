// A factor table: a row a run, a column a factor.
//
// A column is continuous (any number: measures, counts) or discrete (categories, coded 0 … levels − 1). Missing
// values do not exist here: whoever builds a table drops or fills them and says so (factors/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace digd::causal {

using variable = std::size_t;  // index of a column
using variables = std::vector<variable>;

struct column {
  static constexpr std::size_t max_levels = 64;

  std::string name;
  bool discrete = false;
  std::vector<double> values;       // continuous: as they are; discrete: the codes as numbers
  std::vector<std::uint8_t> codes;  // discrete only
  std::size_t levels = 0;           // discrete only
  std::vector<std::string> labels;  // discrete only: what each level is called
};

class table {
 public:
  table() = default;
  explicit table(std::size_t rows) : rows_(rows) {}

  std::size_t rows() const { return rows_; }
  std::size_t size() const { return columns_.size(); }
  const column& operator[](variable v) const { return columns_[v]; }
  const std::vector<column>& columns() const { return columns_; }
  std::optional<variable> find(std::string_view name) const;
  bool all_discrete() const;

  void add_continuous(std::string name, std::vector<double> values);
  // `codes` are any small integers; levels that do not occur are dropped. Labels as the sorted values, unless given.
  void add_discrete(std::string name, const std::vector<int>& codes, std::vector<std::string> labels = {});
  void add(column c) { columns_.push_back(std::move(c)); }

  // The rows named, in that order; a row may be named more than once (bootstrap). Levels are kept.
  table take(std::span<const std::size_t> rows) const;
  // The columns named, in that order.
  table select(std::span<const variable> which) const;

 private:
  std::size_t rows_ = 0;
  std::vector<column> columns_;
};

// Normal scores of the ranks: Φ⁻¹((rank − ½)/n), ties share their mean rank; then mean 0, variance 1. A constant
// gives zeros.
std::vector<double> normal_scores(std::span<const double> values);

}  // namespace digd::causal
