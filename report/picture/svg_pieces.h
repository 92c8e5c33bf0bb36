// The shapes that a picture of a run consists of, and its legend. Texts are escaped by the builder. Each shape is
// appended to `body_`. Thread: one at a time. Bounds: none of its own. Failure: none.
#pragma once

#include <string>
#include <string_view>

#include "report/picture/svg_builder.h"

namespace digd::picture {

class svg_pieces {
 public:
  static constexpr double letter = 6.7;  // width of the monospaced labels at 11 px
  static constexpr coordinates px = coordinates::short_tenths;

  svg_pieces() = default;
  svg_pieces(const svg_pieces&) = delete;  // `to_` writes to `body_`
  svg_pieces& operator=(const svg_pieces&) = delete;

  static svg_path path() { return svg_path(px); }

  void text(double x, double y, std::string_view style, std::string_view given_text, std::string_view anchor = {}) {
    to_.open("text").attribute("x", x).attribute("y", y).attribute("class", style);
    if (!anchor.empty()) to_.attribute("text-anchor", anchor);
    to_.content(given_text);
  }

  void line(double x0, double y0, double x1, double y1, std::string_view style) {
    to_.open("line").attribute("x1", x0).attribute("y1", y0).attribute("x2", x1).attribute("y2", y1);
    to_.attribute("class", style).end_empty();
  }

  void circle(double x, double y, double r, std::string_view style) {
    to_.open("circle").attribute("cx", x).attribute("cy", y).attribute("r", r).attribute("class", style).end_empty();
  }

  void box(double x, double y, double w, double h, double round, std::string_view style) {
    to_.open("rect").attribute("x", x).attribute("y", y).attribute("width", w).attribute("height", h);
    to_.attribute("rx", round).attribute("class", style).end_empty();
  }

  void shape(const svg_path& way, std::string_view style) {
    to_.open("path").attribute("d", way.text()).attribute("class", style).end_empty();
  }

  // A group with a tool tip and, for screen readers, a description.
  void open_group(std::string_view title, std::string_view description) {
    to_.open("g").children().element("title", title);
    if (!description.empty()) to_.element("desc", description);
    to_.line_end();
  }

  void close_group() { to_.close("g"); }

 protected:
  std::string body_;
  svg_builder to_{body_, px};
};

// Draws the legend in lines as wide as the picture, from `top` on. Returns the height of the whole picture.
double draw_legend(svg_pieces& on, double top, double width, bool has_lit_path);

}  // namespace digd::picture
