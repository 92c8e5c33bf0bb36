// An analysis for people (text), for programs (JSON), and its explanation as a picture (SVG; DOT for Graphviz). Names
// that agents or users chose are escaped in all of them.
#pragma once

#include <string>

#include "analysis/causal/analyse.h"
#include "analysis/causal/worldview.h"

namespace digd::causal {

// What a worldview says and what the data say to it.
struct edge_opinion {
  worldview_edge edge;
  scale from = scale::unknown, to = scale::unknown;
  double support = 0;   // share of graphs with an edge between the two
  double forwards = 0;  // of these, share that direct it as said
  bool known = true;    // both are columns
};
struct worldview_standing {
  std::string name, refuted;  // why it lost its place; empty: it stands
  bool chosen = false;
  std::vector<edge_opinion> edges;
};

struct reported {
  const table& data;
  variable target;
  const analysis& found;
  std::uint64_t seed = 1;
  std::vector<std::string> notes;  // of building the table
  std::vector<worldview_standing> worldviews;
};

std::string analysis_text(const reported& r);
std::string analysis_json(const reported& r);
std::string analysis_dot(const reported& r);
std::string analysis_svg(const reported& r);  // drawing.cpp

}  // namespace digd::causal
