// A factor table: one row a run, one column a factor.
//
// A column is continuous (any number: measures, counts) or discrete (categories, coded 0 … levels − 1). There are no
// missing values: the code that builds a table drops or fills them and reports that. Values are copied; a table owns
// its data. Thread: one at a time while it changes; any thread may read it. Bounds: those of the caller; `max_levels`
// of a discrete column. Failure: none; the caller gives columns of equal length.
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
  std::vector<double> values;       // by row; continuous: the values; discrete: the codes
  std::vector<std::uint8_t> codes;  // by row; discrete only
  std::size_t levels = 0;           // discrete only
  std::vector<std::string> labels;  // discrete only: name of each level
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
  // `codes` are any integers, with at most `max_levels` different ones; codes that do not occur are dropped. A level is
  // named labels[code] or, if there is no such label, by its code.
  void add_discrete(std::string name, const std::vector<int>& codes, std::vector<std::string> labels = {});
  void add(column c) { columns_.push_back(std::move(c)); }

  // These rows in this order; a row may occur more than once (bootstrap). Keeps levels that no longer occur.
  table take(std::span<const std::size_t> rows) const;
  // These columns in this order.
  table select(std::span<const variable> chosen) const;

 private:
  std::size_t rows_ = 0;
  std::vector<column> columns_;
};

// Normal scores of the ranks, Φ⁻¹((rank − ½)/n), where ties share their mean rank; scaled to mean 0 and variance 1. A
// constant gives zeros.
std::vector<double> normal_scores(std::span<const double> values);

}  // namespace digd::causal
