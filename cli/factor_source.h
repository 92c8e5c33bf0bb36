// Where the commands of `digctl causal` read a factor table: runs in archives, traces and folders, a fleet, a CSV file,
// or lines of factors (docs/causal.md).
//
// Thread: one; calls block. Failure: an error sentence; empty on success. Bounds: `max_factor_file_bytes` of a file
// that is read whole, 65,535 runs and 500 columns of a table.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causal/beliefs.h"
#include "analysis/causal/factors/factor_table.h"
#include "cli/fleet_options.h"

namespace digd::cli {

inline constexpr std::size_t max_factor_file_bytes = std::size_t{1} << 30;

struct factor_source {
  std::vector<std::string> paths, factors, factor_files, metrics, discrete, views;
  std::string csv, lines;
  bool rates = false;
  std::int64_t first_ms = 0;
  std::uint64_t first_messages = 0;
  fleet_options fleet;
};

// Takes one value at a time, so that paths may follow.
void add_list(CLI::App& app, const std::string& name, std::vector<std::string>& to, const std::string& text);
// The options of every command that makes a factor table.
void add_factor_source(CLI::App& app, factor_source& from);
// Options of a table only: an experiment names its factor and outcome.
void add_metrics(CLI::App& app, factor_source& from);

// The factors that the user defined.
std::string add_user_factors(const factor_source& from, causal::factor_request& request);

// Makes the table, with the variables of worldviews. The source outlives it.
class factor_loader {
 public:
  explicit factor_loader(const factor_source& from) : from_(from) {}

  // Reads worldviews; their variables become columns of the table.
  std::string views(const std::vector<std::string>& files, causal::beliefs& into);
  std::string load(causal::factor_rows& out, const std::string& outcome = {});
  // The lines from which `--lines` makes the table.
  std::string load_lines(std::string& out, const std::string& outcome);
  std::string make_request(causal::factor_request& request, const std::string& outcome) const;

 private:
  std::string load_csv(const std::string& path, causal::factor_rows& out);

  const factor_source& from_;
  std::vector<std::pair<std::string, std::string>> extra_;  // name and expression
};

}  // namespace digd::cli
