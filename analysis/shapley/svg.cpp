#include "analysis/shapley/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace digd::shapley {

namespace {

constexpr std::string_view style_sheet = R"(<style>
svg{--page:#fff;--ink:#1f2328;--soft:#59636e;--grid:#e4e7eb;--up:#c4432b;--down:#2a6db0;--sum:#1f2328;--seen:#0f8a6d;--limit:#8a5a00}
@media(prefers-color-scheme:dark){svg{--page:#14171c;--ink:#e6e9ee;--soft:#a2abb8;--grid:#2b313a;--up:#ef7a63;--down:#6aa9e9;--sum:#e6e9ee;--seen:#4fc9a8;--limit:#e0b45a}}
text{font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:var(--ink)}
.title{font-size:17px;font-weight:600}.soft{fill:var(--soft)}.small{font-size:12px;fill:var(--soft)}
.page{fill:var(--page)}.grid{stroke:var(--grid);stroke-width:1}.axis{stroke:var(--soft);stroke-width:1}
.up{fill:var(--up)}.down{fill:var(--down)}.bar-error{stroke:var(--ink);stroke-width:1.4;fill:none}
.sum{stroke:var(--sum);stroke-width:2;fill:none}.seen{stroke:var(--seen);stroke-width:2;fill:none;stroke-dasharray:6 3}
.limit{stroke:var(--limit);stroke-width:1.5;stroke-dasharray:2 3}.ring{fill:none;stroke:var(--ink);stroke-width:1.2}
</style>
)";

}  // namespace

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
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) out.push_back(k == 0 ? 0 : k * step);
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

svg::svg(double width, double height, std::string_view title, std::string_view subtitle) {
  out_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n"
      "<title>{2}</title>\n{3}<rect class=\"page\" width=\"{0}\" height=\"{1}\"/>\n",
      width, height, escape(title), style_sheet);
  text(24, 30, "start", "title", title);
  text(24, 50, "start", "soft", subtitle);
}

std::string svg::escape(std::string_view what) {
  std::string out;
  for (const char c : what) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
  }
  return out;
}

void svg::tip(std::string_view what, std::string_view tag) {
  out_ += what.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", escape(what), tag);
}

void svg::rect(double x, double y, double w, double h, std::string_view style, std::string_view what) {
  out_ += fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"", style, x, y, w, h);
  tip(what, "rect");
}

void svg::line(double x1, double y1, double x2, double y2, std::string_view style, std::string_view what) {
  out_ += fmt::format("<line class=\"{}\" x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\"", style, x1, y1, x2, y2);
  tip(what, "line");
}

void svg::path(const std::vector<std::pair<double, double>>& points, std::string_view style) {
  out_ += fmt::format("<path class=\"{}\" d=\"", style);
  for (std::size_t i = 0; i < points.size(); ++i) {
    out_ += fmt::format("{}{:.2f} {:.2f}", i > 0 ? "L" : "M", points[i].first, points[i].second);
  }
  out_ += "\"/>\n";
}

void svg::dot(double x, double y, double r, std::string_view style, std::string_view what) {
  out_ += fmt::format("<circle class=\"{}\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\"", style, x, y, r);
  tip(what, "circle");
}

void svg::text(double x, double y, std::string_view anchor, std::string_view style, std::string_view what) {
  out_ += fmt::format("<text class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", style, x, y, anchor, escape(what));
}

void svg::turned_text(double x, double y, std::string_view style, std::string_view what) {
  out_ += fmt::format("<text class=\"{0}\" transform=\"translate({1:.2f} {2:.2f}) rotate(-90)\" text-anchor=\"middle\">{3}</text>\n",
                      style, x, y, escape(what));
}

void svg::error_bar_across(double x1, double x2, double y) {
  out_ += fmt::format("<path class=\"bar-error\" d=\"M{0:.2f} {2:.2f}V{3:.2f}M{0:.2f} {4:.2f}H{1:.2f}M{1:.2f} {2:.2f}V{3:.2f}\"/>\n", x1,
                      x2, y - 4, y + 4, y);
}

void svg::error_bar_up(double x, double y1, double y2) {
  out_ += fmt::format("<path class=\"bar-error\" d=\"M{2:.2f} {0:.2f}H{3:.2f}M{4:.2f} {0:.2f}V{1:.2f}M{2:.2f} {1:.2f}H{3:.2f}\"/>\n", y1,
                      y2, x - 3, x + 3, x);
}

void svg::y_axis(const scale& y, double left, double right, std::string_view name) {
  const std::vector<double> all = ticks(y.low, y.high, 6);
  const double spacing = all.size() > 1 ? all[1] - all[0] : 1;
  for (const double v : all) {
    line(left, y(v), right, y(v), v == 0 ? "axis" : "grid");
    text(left - 8, y(v) + 4, "end", "small", tick_text(v, spacing));
  }
  turned_text(18, (y.from + y.to) / 2, "soft", name);
}

void svg::x_axis(const scale& x, double top, double bottom, std::string_view name) {
  const std::vector<double> all = ticks(x.low, x.high, 6);
  const double spacing = all.size() > 1 ? all[1] - all[0] : 1;
  for (const double v : all) {
    line(x(v), top, x(v), bottom, v == 0 ? "axis" : "grid");
    text(x(v), bottom + 18, "middle", "small", tick_text(v, spacing));
  }
  text((x.from + x.to) / 2, bottom + 38, "middle", "soft", name);
}

std::string svg::done() const { return out_ + "</svg>\n"; }

}  // namespace digd::shapley
