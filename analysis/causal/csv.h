// Factor tables as CSV, in and out (RFC 4180: commas, quotes doubled, a header).
//
// A column is discrete if the caller says so, if its header ends in ":discrete", if a value is no number, or if it has
// exactly two distinct values; else continuous. Constant columns, and texts that tell nearly every row apart, are
// dropped and named in `notes`; rows with an empty cell are dropped and counted there. Failure: `problem` is set and
// the table empty. Bounds: max_bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/causal/table.h"

namespace digd::causal {

struct csv_result {
  table data;
  std::string problem;             // empty: read
  std::vector<std::string> notes;  // what was dropped
  std::vector<std::size_t> kept;   // which data rows of the file the table's rows are
  std::vector<std::string> names;  // of the file's columns, dropped ones too
};

csv_result read_csv(std::string_view text, const std::vector<std::string>& discrete = {});
// As the evaluation's .txt slices: integers between spaces, no header; every column is discrete. Nothing is dropped.
csv_result read_codes(std::string_view text);

// Texts beside a table, one a row: names of runs, labels that are no factors.
struct text_column {
  std::string name;
  std::vector<std::string> cells;
};
std::string write_csv(const table& t, const std::vector<text_column>& before = {});
// One cell, quoted if it must be; a text that a spreadsheet would take for a formula gets a leading apostrophe.
std::string csv_cell(std::string_view text);
// The shortest text that reads back as the same number.
std::string number_text(double x);

// The cells of a CSV text, row by row. Empty with `problem` set if a quote never closes.
std::vector<std::vector<std::string>> csv_cells(std::string_view text, std::string& problem);

}  // namespace digd::causal
