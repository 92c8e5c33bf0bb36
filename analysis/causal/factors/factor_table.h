// Runs into a factor table: from archives, trace files, folders of either.
//
// Columns, in order: built-in factors; label.X (categories, or numbers if all are); user factors; metric.X where asked
// for; success (the outcome that run_ended told). A column that never changes, a label that tells nearly every run
// apart and a metric that some runs lack are dropped, and `notes` says so. A run without a label has the category
// "(none)". Runs that cannot be read or did not end are left out and counted there.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causal/factors/run_facts.h"
#include "analysis/causal/table.h"

namespace digd::causal {

struct factor_request {
  std::vector<std::pair<std::string, std::string>> user;  // name, expression
  run_window window;
  bool rates = false;                // counts by activation, named …_per_activation
  std::string outcome;               // what is to be explained: always as it is, and of the whole run
  std::vector<std::string> metrics;  // as columns; "*": all
};

struct factor_rows {
  table data;
  std::string problem;  // empty: built
  std::vector<std::string> notes;
  std::vector<std::string> runs;                           // by row: the run's id
  std::vector<std::map<std::string, std::string>> labels;  // by row
};

// Hands on each run below a path: an archive (SQLite), a trace (JSON lines), or a folder of these, in order of name.
// Empty if done, else why not; runs that cannot be read go to `notes`.
std::string each_run(const std::string& path, const run_window& window, std::vector<std::string>& notes,
                     const std::function<void(run_facts&&)>& to);

factor_rows factor_table_of(const std::vector<std::string>& paths, const factor_request& request);

// One side of an experiment: a factor and an outcome of each run, whatever they are (constant ones too). The outcome is
// `success` (1 or 0), `metric.X`, a built-in or a user factor; the factor one of the same, or a label that is a number.
struct paired_runs {
  std::string problem;
  std::vector<std::string> notes;  // runs left out
  std::vector<double> factor, outcome;
  std::vector<std::map<std::string, std::string>> labels;
};
paired_runs paired_runs_of(const std::string& path, const factor_request& request, const std::string& factor,
                           const std::string& outcome);

// `name = expression` lines; empty lines and lines that begin with # are skipped. Empty if read, else what is wrong.
std::string read_user_factors(std::string_view text, std::vector<std::pair<std::string, std::string>>& out);

// The table as CSV, with the runs' ids first and the labels that are no factors because they tell runs apart: these can
// still pair and cluster.
std::string factor_csv(const factor_rows& rows);

// Rows that share a value of every label named are one cluster, numbered in order of appearance. A label's name may
// begin with "label.". `why` is set if no row has a label.
std::vector<std::uint32_t> clusters_by(const factor_rows& rows, const std::vector<std::string>& labels,
                                       std::string& why);

}  // namespace digd::causal
