// Writes an analysis as text, JSON, Graphviz DOT, and an SVG picture of its explanation.
//
// Names that agents or users chose are escaped in every format. Pure functions; a `reported` refers to the table and
// the analysis, which must outlive it.
#pragma once

#include <string>

#include "analysis/causal/analyse.h"
#include "analysis/causal/worldview.h"

namespace digd::causal {

// An edge that a worldview claims, with its support in the data.
struct edge_opinion {
  worldview_edge edge;
  scale from = scale::unknown, to = scale::unknown;
  double support = 0;   // share of graphs with an edge between the two
  double forwards = 0;  // of these, the share that directs it as claimed
  bool known = true;    // whether both are columns
};
struct worldview_status {
  std::string name, refuted;  // `refuted`: why an experiment rules it out; empty: no experiment does
  bool chosen = false;
  std::vector<edge_opinion> edges;
};

struct reported {
  const table& data;
  variable target;
  const analysis& found;
  std::uint64_t seed = 1;
  std::vector<std::string> notes;  // about building the table
  std::vector<worldview_status> worldviews;
};

std::string analysis_text(const reported& r);
std::string analysis_json(const reported& r);
std::string analysis_dot(const reported& r);
std::string analysis_svg(const reported& r);  // drawing.cpp

}  // namespace digd::causal
