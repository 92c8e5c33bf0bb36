// Factor tables as CSV, read and written (RFC 4180: commas, doubled quotes, a header).
//
// A column is discrete if the caller declares it, if its header ends in ":discrete", if a value is not a number, or if
// it has exactly two distinct values; else continuous. Dropped and named in `notes`: constant columns, text columns
// with a different value in nearly every row, and rows with an empty cell. Failure: `problem` is set and the table is
// empty. Bounds: those of the caller's text; a discrete column has at most 64 levels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/causal/factors/table.h"

namespace digd::causal {

struct csv_result {
  table data;
  std::string problem;             // empty: success
  std::vector<std::string> notes;  // what was dropped
  std::vector<std::size_t> kept;   // by row of the table: its data row in the file, from 0
  std::vector<std::string> names;  // of the file's columns, including dropped ones
};

csv_result read_csv(std::string_view text, const std::vector<std::string>& discrete = {});
// The .txt slices of eval.h: integers separated by spaces, no header. Every column is discrete, nothing is dropped.
csv_result read_codes(std::string_view text);

// Text columns beside a table, one cell a row: ids of runs, labels that are not factors.
struct text_column {
  std::string name;
  std::vector<std::string> cells;
};
std::string write_csv(const table& t, const std::vector<text_column>& before = {});
// One cell, quoted where necessary. A text that a spreadsheet would take for a formula gets a leading apostrophe.
std::string csv_cell(std::string_view text);
// The shortest text that reads back as the same number.
std::string number_text(double x);

// The cells of a CSV text, row by row. Empty with `problem` set if a quote never closes.
std::vector<std::vector<std::string>> csv_cells(std::string_view text, std::string& problem);

}  // namespace digd::causal
