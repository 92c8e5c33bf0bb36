// Draws charts as SVG: scales, axes with round ticks, marks with tool tips. A chart stands alone, light or dark by the
// reader's preference (palette.h), or in a page that has `chart_style`. Texts are escaped.
//
// Thread: one at a time for a `chart`, any for the functions. Bounds: those of what the caller draws.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/picture/svg_builder.h"

namespace digd::picture {

// Round numbers that cover low … high; about `wanted` of them, low < high.
std::vector<double> ticks(double low, double high, int wanted);
// The value of a tick, with as many digits as the spacing needs.
std::string tick_text(double x, double spacing);

struct scale {
  double low = 0, high = 1;  // of the data
  double from = 0, to = 1;   // on the page
  double operator()(double x) const { return from + (x - low) / (high - low) * (to - from); }
};
// A scale that covers all `values` and zero, with some room; its width is never zero.
scale scale_for(const std::vector<double>& values, double from, double to);

// A flat style sheet, for `scoped` and `with_colours`.
extern const std::string_view chart_style;

struct chart_look {
  bool embedded = false;         // in a page, as `<svg class="chart">`, without style and background
  std::string_view description;  // for screen readers; empty: the subtitle
  std::string_view style;        // a flat style sheet for this chart, beside `chart_style`; only if not embedded
};

class chart {
 public:
  chart(double width, double height, std::string_view title, std::string_view subtitle, const chart_look& look = {});

  void rect(double x, double y, double w, double h, std::string_view style, std::string_view tip = {},
            double round = 0);
  void line(double x1, double y1, double x2, double y2, std::string_view style, std::string_view tip = {});
  void path(const std::vector<std::pair<double, double>>& points, std::string_view style);
  // `stroke_width` 0: the width of the style.
  void shape(const svg_path& path, std::string_view style, std::string_view tip = {}, double stroke_width = 0);
  void dot(double x, double y, double r, std::string_view style, std::string_view tip = {});
  void text(double x, double y, std::string_view anchor, std::string_view style, std::string_view given_text);
  void turned_text(double x, double y, std::string_view style,
                   std::string_view given_text);  // upwards, around its middle
  void error_bar_across(double x1, double x2, double y);
  void error_bar_up(double x, double y1, double y2);
  // Axes on the left and at the bottom of the box, grid lines, ticks and names.
  void y_axis(const scale& y, double left, double right, std::string_view name);
  void x_axis(const scale& x, double top, double bottom, std::string_view name);

  std::string done() const;

 private:
  svg_builder mark(std::string_view tag, std::string_view style);
  static void finish(svg_builder& to, std::string_view tag, std::string_view tip);
  std::string out_;
};

}  // namespace digd::picture
