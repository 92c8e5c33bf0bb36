// The quality of the learners on tables whose true graph is known: the output of `digctl causal eval DIR`.
//
// DIR holds NAME.adj (the true DAG, 1 in row i and column j meaning i → j) and slices of samples: NAME_ROWS_SLICE.txt
// (integers, discrete) or .csv (mixed; NAME.discrete lists its discrete columns, one a line, unless NAME is agentrun).
// All slices found are used. Every data set gets the same default settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace digd::causal {

struct eval_options {
  std::uint64_t seed = 1;
  bool compare = false;            // also measure the other learners
  std::size_t permuted = 10;       // permuted outcomes for each slice of at most 1,000 rows
  std::size_t timing_repeats = 5;  // runs of PC on the alarm network; their median counts
};

// One line of the table: a measured value and, if there is one, its target.
struct figure {
  std::string data, metric;
  std::size_t rows = 0;  // 0: does not apply
  double value = 0;
  double wanted = 0;
  bool at_most = false;  // whether `wanted` is an upper bound; else a lower one
  bool is_aim = false;   // an aim: missing it is not a failure
  bool has_aim = true;   // false: no target, for comparison only
  std::size_t slices = 0;
  // For a difference between two learners on the same slices: its 95% interval (normal, over slices).
  bool has_interval = false;
  double low = 0, high = 0;

  bool reached() const { return at_most ? value <= wanted : value >= wanted; }
};

struct slice_figure {
  std::string data;
  std::size_t rows = 0, slice = 0;
  double mb_f1 = 0, shd = 0, seconds = 0;
};

struct evaluation {
  std::string problem;  // empty: success
  std::vector<figure> figures;
  std::vector<slice_figure> slices;
};

evaluation evaluate(const std::string& folder, const eval_options& options);

std::string evaluation_text(const evaluation& e);
// The seconds differ from run to run; everything else is reproducible.
std::string evaluation_json(const evaluation& e);

}  // namespace digd::causal
