#include "report/picture/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/picture/palette.h"
#include "report/picture/svg_builder.h"

namespace digd::picture {

const std::string_view chart_style = R"css(
text{font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:var(--ink)}
.title{font-size:17px;font-weight:600}.soft{fill:var(--soft)}.small{font-size:12px;fill:var(--soft)}.strong{font-weight:600}
.page{fill:var(--paper)}.panel{fill:var(--panel)}.grid{stroke:var(--line);stroke-width:1}.axis{stroke:var(--soft);stroke-width:1}
.up{fill:var(--fail)}.down{fill:var(--blue)}.bar-error{stroke:var(--ink);stroke-width:1.4;fill:none}
.sum{stroke:var(--ink);stroke-width:2;fill:none}.seen{stroke:var(--good-ink);stroke-width:2;fill:none;stroke-dasharray:6 3}
.limit{stroke:var(--warn-ink);stroke-width:1.5;stroke-dasharray:2 3}.ring{fill:none;stroke:var(--ink);stroke-width:1.2}
.node{fill:var(--paper);stroke:var(--edge);stroke-width:1.5}.node.fails{stroke:var(--fail);stroke-width:2.6}.node.warns{stroke:var(--warn);stroke-width:2.2;stroke-dasharray:4 2.5}
.link{fill:none;stroke:var(--edge);stroke-width:1.4}.link.idle{stroke:var(--quiet);stroke-dasharray:5 4}.link.heals{stroke:var(--heal);stroke-width:2}
.head{fill:var(--edge)}.head.idle{fill:var(--quiet)}.head.heals{fill:var(--heal)}
.lit{stroke:var(--glow);stroke-width:11;stroke-linecap:round;stroke-linejoin:round;fill:none}
.busy{fill:var(--blue)}.span{fill:var(--blue-mid);stroke:var(--blue);stroke-width:1}.span.broken{fill:var(--fail-fill);stroke:var(--fail);stroke-dasharray:3 2}.span.open{fill:var(--paper);stroke-dasharray:3 3}
.q1{fill-opacity:.2}.q2{fill-opacity:.4}.q3{fill-opacity:.6}.q4{fill-opacity:.8}.q5{fill-opacity:1}.node.idle{stroke:var(--quiet);stroke-dasharray:4 3}
.count{font-size:12px;font-weight:600;paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}.tiny{font-size:11px;fill:var(--faint)}
.mark.fails{fill:var(--fail)}.mark.warns{fill:var(--paper);stroke:var(--warn);stroke-width:2}.mark.heals{fill:var(--heal)}
)css";

std::vector<double> ticks(double low, double high, int wanted) {
  const double raw = (high - low) / std::max(1, wanted);
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double m : {1.0, 2.0, 5.0}) {
    if (raw <= m * power * 1.0001) {
      step = m * power;
      break;
    }
  }
  std::vector<double> out;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= wanted + 1; ++i) {  // the step is at least `raw`, so there are no more
    const double k = first + i;
    if (k * step > high + step * 1e-9) break;
    out.push_back(k == 0 ? 0 : k * step);
  }
  return out;
}

std::string tick_text(double x, double spacing) {
  if (x == 0) return "0";
  if (std::abs(spacing) < 1e-4 || std::abs(x) >= 1e6) return fmt::format("{:.3g}", x);
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(spacing) - 1e-9)), 0, 8);
  return fmt::format("{:.{}f}", x, digits);
}

scale scale_for(const std::vector<double>& values, double from, double to) {
  double low = 0, high = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const double room = 0.06 * (high - low);
  if (low < 0) low -= room;
  if (high > 0) high += room;
  if (high - low <= 0) high = low + 1;
  return {low, high, from, to};
}

chart::chart(double width, double height, std::string_view title, std::string_view subtitle, const chart_look& look) {
  const std::string_view description = look.description.empty() ? subtitle : look.description;
  const std::string width_text = fmt::format("{}", width), height_text = fmt::format("{}", height);
  svg_builder to(out_, coordinates::hundredths);
  to.open("svg");
  look.embedded ? to.attribute("class", "chart") : to.attribute("xmlns", "http://www.w3.org/2000/svg");
  to.attribute("viewBox", "0 0 " + width_text + ' ' + height_text);
  to.attribute("width", width_text).attribute("height", height_text).attribute("role", "img");
  if (look.embedded) to.attribute("aria-label", title);
  to.children().line_end().element("title", title).line_end();
  if (!description.empty()) to.element("desc", description).line_end();
  if (!look.embedded) {
    to.raw("<style>").raw(with_colours(std::string(chart_style).append(look.style))).close("style");
    to.open("rect")
        .attribute("class", "page")
        .attribute("width", width_text)
        .attribute("height", height_text)
        .end_empty();
  }
  text(24, 30, "start", "title", title);
  text(24, 50, "start", "soft", subtitle);
}

svg_builder chart::mark(std::string_view tag, std::string_view style) {
  svg_builder to(out_, coordinates::hundredths);
  to.open(tag).attribute("class", style);
  return to;
}

void chart::finish(svg_builder& to, std::string_view tag, std::string_view tip) {
  if (tip.empty()) to.end_empty();
  else to.children().element("title", tip).close(tag);
}

void chart::rect(double x, double y, double w, double h, std::string_view style, std::string_view tip, double round) {
  svg_builder to = mark("rect", style);
  to.attribute("x", x).attribute("y", y).attribute("width", w).attribute("height", h);
  if (round > 0) to.attribute("rx", fmt::format("{}", round));
  finish(to, "rect", tip);
}

void chart::line(double x1, double y1, double x2, double y2, std::string_view style, std::string_view tip) {
  svg_builder to = mark("line", style);
  to.attribute("x1", x1).attribute("y1", y1).attribute("x2", x2).attribute("y2", y2);
  finish(to, "line", tip);
}

void chart::path(const std::vector<std::pair<double, double>>& points, std::string_view style) {
  svg_path way(coordinates::hundredths);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto [x, y] = points[i];
    i == 0 ? way.move(x, y) : way.line(x, y);
  }
  mark("path", style).attribute("d", way.text()).end_empty();
}

void chart::shape(const svg_path& path, std::string_view style, std::string_view tip, double stroke_width) {
  svg_builder to = mark("path", style);
  to.attribute("d", path.text());
  if (stroke_width > 0) to.attribute("style", "stroke-width:" + coordinate(stroke_width, coordinates::tenths));
  finish(to, "path", tip);
}

void chart::dot(double x, double y, double r, std::string_view style, std::string_view tip) {
  svg_builder to = mark("circle", style);
  to.attribute("cx", x).attribute("cy", y).attribute("r", r);
  finish(to, "circle", tip);
}

void chart::text(double x, double y, std::string_view anchor, std::string_view style, std::string_view given_text) {
  mark("text", style).attribute("x", x).attribute("y", y).attribute("text-anchor", anchor).content(given_text);
}

void chart::turned_text(double x, double y, std::string_view style, std::string_view given_text) {
  mark("text", style)
      .attribute("transform", fmt::format("translate({:.2f} {:.2f}) rotate(-90)", x, y))
      .attribute("text-anchor", "middle")
      .content(given_text);
}

void chart::error_bar_across(double x1, double x2, double y) {
  svg_path way(coordinates::hundredths);
  way.move(x1, y - 4).vertical(y + 4).move(x1, y).horizontal(x2).move(x2, y - 4).vertical(y + 4);
  mark("path", "bar-error").attribute("d", way.text()).end_empty();
}

void chart::error_bar_up(double x, double y1, double y2) {
  svg_path way(coordinates::hundredths);
  way.move(x - 3, y1).horizontal(x + 3).move(x, y1).vertical(y2).move(x - 3, y2).horizontal(x + 3);
  mark("path", "bar-error").attribute("d", way.text()).end_empty();
}

void chart::y_axis(const scale& y, double left, double right, std::string_view name) {
  const std::vector<double> values = ticks(y.low, y.high, 6);
  const double spacing = values.size() > 1 ? values[1] - values[0] : 1;
  for (const double v : values) {
    line(left, y(v), right, y(v), v == 0 ? "axis" : "grid");
    text(left - 8, y(v) + 4, "end", "small", tick_text(v, spacing));
  }
  turned_text(18, (y.from + y.to) / 2, "soft", name);
}

void chart::x_axis(const scale& x, double top, double bottom, std::string_view name) {
  const std::vector<double> values = ticks(x.low, x.high, 6);
  const double spacing = values.size() > 1 ? values[1] - values[0] : 1;
  for (const double v : values) {
    line(x(v), top, x(v), bottom, v == 0 ? "axis" : "grid");
    text(x(v), bottom + 18, "middle", "small", tick_text(v, spacing));
  }
  text((x.from + x.to) / 2, bottom + 38, "middle", "soft", name);
}

std::string chart::done() const { return out_ + "</svg>\n"; }

}  // namespace digd::picture
