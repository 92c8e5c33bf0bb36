// A table for a terminal. Columns are as wide as their cells, up to a limit; the last one wraps at the width, if there
// is one. Rows may be printed in portions: the first portion sets the widths. A wider cell of a later portion keeps the
// columns aligned: with a width, the rest of its row continues on the next line.
//
// Thread: one. Bounds: rows wait until `print`; the caller decides how many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace digd::cli {

class table {
 public:
  enum class tone : std::uint8_t { plain, good, warning, bad, quiet };
  struct cell {
    std::string text;
    table::tone tone = table::tone::plain;
    cell(std::string text, table::tone tone = table::tone::plain) : text(std::move(text)), tone(tone) {}
    cell(const char* text) : text(text) {}
  };
  using row = std::vector<cell>;

  struct look {
    std::size_t width = 0;  // wrap the last column to it; 0: never
    bool color = false;
  };

  table(std::vector<std::string> head, look look);
  // Makes the columns at least this wide, for rows that come one at a time. Call it before the first print.
  void set_least_widths(std::vector<std::size_t> widths) { least_ = std::move(widths); }
  void add(row cells) { rows_.push_back(std::move(cells)); }
  std::size_t waiting() const { return rows_.size(); }
  // Prints the rows added since the last call; the head comes before the first row.
  void print(std::ostream& out);

 private:
  static constexpr std::size_t max_width = 40;  // columns of any but the last
  void measure();
  void print_cell(std::ostream& out, const cell& cell) const;
  void print_row(std::ostream& out, const row& cells, bool is_head) const;

  look look_;
  row head_;
  std::vector<row> rows_;
  std::vector<std::size_t> widths_, least_;
  bool begun_ = false;
};

// The escape sequence for a tone; "\x1b[0m" resets it.
std::string_view sgr(table::tone tone);

}  // namespace digd::cli
