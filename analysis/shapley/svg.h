// A small SVG writer for charts: scales, axes with round ticks, marks with tool tips. Colours are CSS variables, one set for a
// light and one for a dark page, chosen by the reader's preference; texts are escaped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace digd::shapley {

// Round numbers that cover low … high; about `wanted` of them, low < high.
std::vector<double> ticks(double low, double high, int wanted);
// As short as the spacing allows.
std::string tick_text(double x, double spacing);

struct scale {
  double low = 0, high = 1;    // of the data
  double from = 0, to = 1;     // on the page
  double operator()(double x) const { return from + (x - low) / (high - low) * (to - from); }
};
// A scale that holds all of `values` and zero, with some room; never of no width.
scale scale_for(const std::vector<double>& values, double from, double to);

class svg {
 public:
  svg(double width, double height, std::string_view title, std::string_view subtitle);

  void rect(double x, double y, double w, double h, std::string_view style, std::string_view tip = {});
  void line(double x1, double y1, double x2, double y2, std::string_view style, std::string_view tip = {});
  void path(const std::vector<std::pair<double, double>>& points, std::string_view style);
  void dot(double x, double y, double r, std::string_view style, std::string_view tip = {});
  void text(double x, double y, std::string_view anchor, std::string_view style, std::string_view what);
  void turned_text(double x, double y, std::string_view style, std::string_view what);  // upwards, around its middle
  void error_bar_across(double x1, double x2, double y);
  void error_bar_up(double x, double y1, double y2);
  // Axes on the left and at the bottom of the box, grid lines, ticks and names.
  void y_axis(const scale& y, double left, double right, std::string_view name);
  void x_axis(const scale& x, double top, double bottom, std::string_view name);

  std::string done() const;

 private:
  static std::string escape(std::string_view what);
  void tip(std::string_view what, std::string_view tag);
  std::string out_;
};

}  // namespace digd::shapley
