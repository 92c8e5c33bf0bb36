// A table for a terminal: columns as wide as their cells, up to a limit.
#pragma once

#include <string>
#include <vector>

namespace digd::cli {

class table {
 public:
  explicit table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const {
    std::vector<std::size_t> width(rows_.front().size(), 0);
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], std::min(row[i].size(), most));
    }
    std::string out;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        out += row[i];
        if (i + 1 < row.size()) out.append(width[i] > row[i].size() ? width[i] - row[i].size() + 2 : 2, ' ');
      }
      out += '\n';
    }
    return out;
  }

 private:
  static constexpr std::size_t most = 40;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace digd::cli
