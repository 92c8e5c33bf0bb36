// Prior knowledge applied to a table: tiers that follow from what the columns are, worldviews, experiments.
//
// Pure functions over the caller's data; no threads, no I/O.
#pragma once

#include <string>
#include <vector>

#include "analysis/causal/analyse.h"
#include "analysis/causal/report.h"
#include "analysis/causal/worldview.h"

namespace digd::causal {

struct beliefs {
  std::vector<worldview> views;  // in order of preference
  std::vector<experiment> experiments;
  std::vector<std::string> settings;  // columns fixed before a run: no factor causes them
  std::vector<std::string> outcomes;  // columns known after a run: they cause no factor
};

// Writes constraints into `options` and returns one status for each view, in order.
//
// Tiers: label.* and `settings` are 0, everything that happens in a run 1, success, metric.* and `outcomes` 2. A tier
// given by the chosen worldview overrides these. The chosen worldview is the first that no experiment refutes. Its
// required and forbidden edges, and the edges that experiments confirmed, become hard constraints; its roots anchor the
// explanation. Names without a column, and edges that would close a cycle, are left out and named in `notes`.
std::vector<worldview_status> apply_beliefs(const table& data, const beliefs& beliefs, analysis_options& options,
                                            std::vector<std::string>& notes);

// Fills in the support that the data give to each claimed edge.
void weigh(const table& data, const analysis& found, const beliefs& beliefs, std::vector<worldview_status>& statuses);

}  // namespace digd::causal
