#include "report/picture/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/picture/palette.h"
#include "report/picture/xml.h"

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
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k)
    out.push_back(k == 0 ? 0 : k * step);
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
  const std::string_view message = look.description.empty() ? subtitle : look.description;
  out_ =
      fmt::format("<svg{0} viewBox=\"0 0 {1} {2}\" width=\"{1}\" height=\"{2}\" role=\"img\"{3}>\n<title>{4}</title>\n",
                  look.embedded ? " class=\"chart\"" : " xmlns=\"http://www.w3.org/2000/svg\"", width, height,
                  look.embedded ? fmt::format(" aria-label=\"{}\"", xml(title)) : "", xml(title));
  if (!message.empty()) out_ += fmt::format("<desc>{}</desc>\n", xml(message));
  if (!look.embedded) {
    out_ += fmt::format("<style>{}</style>\n<rect class=\"page\" width=\"{}\" height=\"{}\"/>\n",
                        with_colours(chart_style), width, height);
  }
  text(24, 30, "start", "title", title);
  text(24, 50, "start", "soft", subtitle);
}

void chart::tip(std::string_view text, std::string_view tag) {
  out_ += text.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", xml(text), tag);
}

void chart::rect(double x, double y, double w, double h, std::string_view style, std::string_view text, double round) {
  out_ +=
      fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"", style, x, y, w, h);
  if (round > 0) out_ += fmt::format(" rx=\"{}\"", round);
  tip(text, "rect");
}

void chart::line(double x1, double y1, double x2, double y2, std::string_view style, std::string_view text) {
  out_ +=
      fmt::format("<line class=\"{}\" x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\"", style, x1, y1, x2, y2);
  tip(text, "line");
}

void chart::path(const std::vector<std::pair<double, double>>& points, std::string_view style) {
  out_ += fmt::format("<path class=\"{}\" d=\"", style);
  for (std::size_t i = 0; i < points.size(); ++i) {
    out_ += fmt::format("{}{:.2f} {:.2f}", i > 0 ? "L" : "M", points[i].first, points[i].second);
  }
  out_ += "\"/>\n";
}

void chart::shape(std::string_view d, std::string_view style, std::string_view text, double stroke_width) {
  out_ += fmt::format("<path class=\"{}\" d=\"{}\"", style, d);
  if (stroke_width > 0) out_ += fmt::format(" style=\"stroke-width:{:.1f}\"", stroke_width);
  tip(text, "path");
}

void chart::dot(double x, double y, double r, std::string_view style, std::string_view text) {
  out_ += fmt::format("<circle class=\"{}\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\"", style, x, y, r);
  tip(text, "circle");
}

void chart::text(double x, double y, std::string_view anchor, std::string_view style, std::string_view text) {
  out_ += fmt::format("<text class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", style, x, y,
                      anchor, xml(text));
}

void chart::turned_text(double x, double y, std::string_view style, std::string_view text) {
  out_ += fmt::format(
      "<text class=\"{0}\" transform=\"translate({1:.2f} {2:.2f}) rotate(-90)\" text-anchor=\"middle\">{3}</text>\n",
      style, x, y, xml(text));
}

void chart::error_bar_across(double x1, double x2, double y) {
  out_ += fmt::format(
      "<path class=\"bar-error\" d=\"M{0:.2f} {2:.2f}V{3:.2f}M{0:.2f} {4:.2f}H{1:.2f}M{1:.2f} {2:.2f}V{3:.2f}\"/>\n",
      x1, x2, y - 4, y + 4, y);
}

void chart::error_bar_up(double x, double y1, double y2) {
  out_ += fmt::format(
      "<path class=\"bar-error\" d=\"M{2:.2f} {0:.2f}H{3:.2f}M{4:.2f} {0:.2f}V{1:.2f}M{2:.2f} {1:.2f}H{3:.2f}\"/>\n",
      y1, y2, x - 3, x + 3, x);
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
