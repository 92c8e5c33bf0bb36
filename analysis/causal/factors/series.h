// The series of a run, and the functions of a series and of the agent graph: the vocabulary of the factor language.
//
// A series is an ordered list of numbers; expression.h lists its names. Lookups return null for an unknown name.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/causal/factors/run_facts.h"

namespace digd::causal {

using series = std::vector<double>;
using series_maker = series (*)(const run_facts&);
using series_measure = double (*)(const series&, double argument);
using graph_measure = double (*)(const run_facts&);

series_maker find_series(std::string_view name);  // one number an activation, event, message or agent
struct measure {
  series_measure of = nullptr;
  bool takes_argument = false;
};
measure find_measure(std::string_view name);
graph_measure find_graph_measure(std::string_view name);
double activation_share(const run_facts& f, std::string_view agent);

}  // namespace digd::causal
