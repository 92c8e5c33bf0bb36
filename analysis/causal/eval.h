// How good the learners are on tables whose true graph is known: what `digctl causal eval DIR` prints.
//
// DIR holds NAME.adj (the true DAG, 1 in row i, column j meaning i → j) and slices of samples NAME_ROWS_SLICE.txt
// (integers, discrete) or .csv (mixed; NAME.discrete lists its discrete columns, one a line, unless NAME is agentrun).
// Whatever slices are there are used. One default for all; nothing looks at a name to choose a setting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace digd::causal {

struct eval_options {
  std::uint64_t seed = 1;
  bool compare = false;            // the other learners too
  std::size_t permuted = 10;       // permuted outcomes a mixed slice and a slice of the smaller sizes
  std::size_t timing_repeats = 5;  // of PC on alarm; the median counts
};

// One line of the table: a figure, what it should be, what it is.
struct figure {
  std::string data, text;
  std::size_t rows = 0;  // 0: none
  double value = 0;
  double wanted = 0;
  bool at_most = false;  // else at least
  bool is_aim = false;   // missing it is no failure
  bool has_aim = true;   // false: for comparison only
  std::size_t slices = 0;

  bool reached() const { return at_most ? value <= wanted : value >= wanted; }
};

struct slice_figure {
  std::string data;
  std::size_t rows = 0, slice = 0;
  double mb_f1 = 0, shd = 0, seconds = 0;
};

struct evaluation {
  std::string problem;  // empty: done
  std::vector<figure> figures;
  std::vector<slice_figure> slices;
};

evaluation evaluate(const std::string& folder, const eval_options& options);

std::string evaluation_text(const evaluation& e);
// Seconds are in it, so that it differs from run to run there and nowhere else.
std::string evaluation_json(const evaluation& e);

}  // namespace digd::causal
