// The charts of docs/healing.md: rates or differences with their intervals, as series in one or more panels.
#pragma once

#include <string>
#include <string_view>

namespace digd::bench {

// Draws a chart that bench/healing/charts.py describes, as SVG. The input is JSON:
//   title, subtitle, x, y   texts; `x` and `y` name the axes
//   across                  true: values run along the x axis and categories down; else values run up
//   low, high               the range of the values
//   panels                  [{"title":…,"categories":["1","3"]}], from left to right
//   series                  [{"name":…,"panels":[[[value, low, high], …], …]}], at most five. A series has a point for
//                           each category of each panel. A point without an interval is [value].
// Throws std::exception for other input.
std::string comparison_chart(std::string_view description_json);

}  // namespace digd::bench
