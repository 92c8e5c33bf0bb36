// Builds a factor table from runs: archives, trace files, folders of either.
//
// Columns, in order: built-in factors; label.X (categories, or numbers if all are); user factors; metric.X where asked
// for; success (the outcome in run_ended). Dropped, and named in `notes`: columns that never change, labels that differ
// in nearly every run, metrics that some runs lack. A run without a label has the category "(none)". Runs that cannot
// be read or did not end are left out and counted in `notes`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causal/factors/run_facts.h"
#include "analysis/causal/factors/table.h"

namespace digd::causal {

struct factor_request {
  std::vector<std::pair<std::string, std::string>> user;  // name, expression
  run_window window;
  bool rates = false;                // divide counts by the activations; columns …_per_activation
  std::string outcome;               // the factor to be explained: never a rate, always of the whole run
  std::vector<std::string> metrics;  // metrics to add as columns; "*": all
};

struct factor_rows {
  table data;
  std::string problem;  // empty: success
  std::vector<std::string> notes;
  std::vector<std::string> runs;                           // by row: id of the run
  std::vector<std::map<std::string, std::string>> labels;  // by row
};

// Calls `to` for each run below a path: an archive (SQLite), a trace (JSON lines), or a folder of these, sorted by
// name. Returns an empty text, or the reason why it stopped. Runs that cannot be read are named in `notes`.
std::string each_run(const std::string& path, const run_window& window, std::vector<std::string>& notes,
                     const std::function<void(run_facts&&)>& to);

factor_rows factor_table_of(const std::vector<std::string>& paths, const factor_request& request);

// The same in two steps, so that other machines can do the first: the lines with what a table needs of each run
// (factor_lines.h), and then the table of all lines. `factor_lines_of` returns an empty text, or the reason why it
// stopped.
std::string factor_lines_of(const std::vector<std::string>& paths, const factor_request& request, std::string& lines);
factor_rows factor_table_of_lines(std::string_view lines, const factor_request& request);

// One side of an experiment: the factor and the outcome of each run, even if all runs have the same. The outcome is
// `success` (1 or 0), `metric.X`, a built-in or a user factor; the factor is one of these or a label with numbers.
struct paired_runs {
  std::string problem;
  std::vector<std::string> notes;  // about runs left out
  std::vector<double> factor, outcome;
  std::vector<std::map<std::string, std::string>> labels;
};
paired_runs paired_runs_of(const std::string& path, const factor_request& request, const std::string& factor,
                           const std::string& outcome);

// Reads `name = expression` lines; skips empty lines and lines that begin with #. Returns an empty text, or the error.
std::string read_user_factors(std::string_view text, std::vector<std::pair<std::string, std::string>>& out);

// The table as CSV. First come the ids of the runs and the labels that are not factors because nearly every run has its
// own value: such labels can still pair and cluster runs.
std::string factor_csv(const factor_rows& rows);

// The cluster of each row: rows with equal values of all `labels` share one, numbered in order of appearance. A name
// may begin with "label.". Sets `problem` if no row has one of the labels.
std::vector<std::uint32_t> clusters_by(const factor_rows& rows, const std::vector<std::string>& labels,
                                       std::string& problem);

}  // namespace digd::causal
