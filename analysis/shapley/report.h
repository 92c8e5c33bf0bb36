// Writes an attribution as a table, as JSON and as plots.
#pragma once

#include <optional>
#include <string>

#include "analysis/shapley/estimate.h"
#include "analysis/shapley/faithfulness.h"
#include "analysis/shapley/metrics.h"
#include "report/picture/chart.h"

namespace digd::shapley {

// One attribution with its metrics. Refers to the game, which must outlive it.
struct report {
  const shapley::game& game;
  estimate_result result;
  double threshold = 0;  // ρ; v(Ω) where the game has none
  double q = usual_share;
  std::uint64_t seed = 0;
  shapley::metrics metrics;
  std::vector<double> risk_curve;
  std::optional<shapley::faithfulness> faithful;
  std::string weights;  // of the structure game, as a sentence; else empty
  std::string verdict;  // whom the values blame, as a JSON object; empty: not said
};

report make_report(const game& game, estimate_result result, double q, std::uint64_t seed);

// A value for display: 0 where it is only the rounding of sums beside the largest value.
double without_rounding(const scored& of, std::size_t i);

// The sentence for a result that adds no risk.
std::string nothing_to_attribute(const estimate_result& result);

// Players are in the order of the game. `adds_risk` says whether their φ may be ranked.
std::string to_json(const report& r);
// Tables of the `max_rows` highest |φ| of actions, agents, behaviours and steps, then the metrics. If the actions added
// no risk, only that sentence.
std::string to_table(const report& r, std::size_t max_rows);

// SVG, 900 wide; light or dark as the reader's system prefers.
std::string plot_steps(const report& r,
                       const picture::chart_look& look = {});  // φ over time, cumulative and observed risk, q·ρ
std::string plot_agents(const report& r,
                        const picture::chart_look& look = {});  // φ by agent with 95% intervals, beside instability
std::string plot_behaviours(const report& r,
                            const picture::chart_look& look = {});  // φ by behaviour with 95% intervals

}  // namespace digd::shapley
