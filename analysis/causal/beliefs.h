// What is known or believed beforehand, put to a table: tiers by what columns are, worldviews, experiments.
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
  std::vector<std::string> settings;  // columns fixed before a run: nothing in it causes them
  std::vector<std::string> outcomes;  // columns known after it: they cause no factor
};

// Tiers: label.* and `settings` come first, then what happened, then success, metric.* and `outcomes`. Tiers of the
// chosen worldview go before these. The chosen one is the first that no experiment refutes. Its required and forbidden
// edges, and edges that experiments confirmed, become hard constraints; its roots anchor the explanation. What names no
// column is said in `notes`.
std::vector<worldview_standing> apply_beliefs(const table& data, const beliefs& beliefs, analysis_options& options,
                                              std::vector<std::string>& notes);

// Fills in what the data say to each edge that a worldview claims.
void weigh(const table& data, const analysis& found, const beliefs& beliefs,
           std::vector<worldview_standing>& standings);

}  // namespace digd::causal
