#include "bench/healing/comparison_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "report/picture/chart.h"

namespace digd::bench {

namespace {

using boost::json::value;

struct point {
  double middle = 0;
  std::optional<std::pair<double, double>> interval;
};

struct panel {
  std::string title;
  std::vector<std::string> categories;
};

struct series {
  std::string name;
  std::vector<std::vector<point>> panels;
};

struct description {
  std::string title, subtitle, x, y;
  bool is_across = false;
  double low = 0, high = 1;
  std::vector<panel> panels;
  std::vector<series> all_series;
};

// Series differ in shape as well as in hue.
constexpr std::array<std::string_view, 5> series_styles{"s0", "s1", "s2", "s3", "s4"};
constexpr std::string_view series_style_sheet =
    ".join{fill:none;stroke-width:1.4}.bar{fill:none;stroke-width:1.4}.open{fill:var(--paper);stroke-width:1.6}\n"
    ".join.s0,.bar.s0,.open.s0{stroke:var(--quiet)}.solid.s0{fill:var(--quiet)}\n"
    ".join.s1,.bar.s1,.open.s1{stroke:var(--fail)}.solid.s1{fill:var(--fail)}\n"
    ".join.s2,.bar.s2,.open.s2{stroke:var(--heal)}.solid.s2{fill:var(--heal)}\n"
    ".join.s3,.bar.s3,.open.s3{stroke:var(--blue)}.solid.s3{fill:var(--blue)}\n"
    ".join.s4,.bar.s4,.open.s4{stroke:var(--good)}.solid.s4{fill:var(--good)}\n";

constexpr double width = 900, left = 66, right = 884, gap = 22, legend_y = 76, panel_title_y = 104, top = 114;

point read_point(const value& from) {
  const auto& numbers = from.as_array();
  point out{.middle = numbers.at(0).to_number<double>(), .interval = {}};
  if (numbers.size() == 3) out.interval.emplace(numbers[1].to_number<double>(), numbers[2].to_number<double>());
  else if (numbers.size() != 1) throw std::runtime_error("expected a point as [value] or [value, low, high]");
  return out;
}

description read(std::string_view json) {
  const value from = boost::json::parse(json);
  const auto text = [](const value& of, const char* name) { return std::string(of.at(name).as_string()); };
  description out{.title = text(from, "title"),
                  .subtitle = text(from, "subtitle"),
                  .x = text(from, "x"),
                  .y = text(from, "y"),
                  .is_across = from.at("across").as_bool(),
                  .low = from.at("low").to_number<double>(),
                  .high = from.at("high").to_number<double>(),
                  .panels = {},
                  .all_series = {}};
  for (const value& each : from.at("panels").as_array()) {
    panel& p = out.panels.emplace_back(panel{text(each, "title"), {}});
    for (const value& name : each.at("categories").as_array()) p.categories.emplace_back(name.as_string());
  }
  for (const value& each : from.at("series").as_array()) {
    series& s = out.all_series.emplace_back(series{text(each, "name"), {}});
    for (const value& points : each.at("panels").as_array()) {
      auto& to = s.panels.emplace_back();
      for (const value& p : points.as_array()) to.push_back(read_point(p));
    }
    for (std::size_t k = 0; k < out.panels.size(); ++k) {
      if (s.panels.size() != out.panels.size() || s.panels[k].size() != out.panels[k].categories.size())
        throw std::runtime_error("series '" + s.name + "': expected a point for each category of each panel");
    }
  }
  if (out.panels.empty() || !(out.low < out.high)) throw std::runtime_error("expected panels, and low < high");
  if (out.all_series.empty() || out.all_series.size() > series_styles.size())
    throw std::runtime_error(fmt::format("expected one to {} series", series_styles.size()));
  return out;
}

class drawing {
 public:
  explicit drawing(description of)
      : of_(std::move(of)),
        bottom_(of_.is_across ? top + 34 * static_cast<double>(of_.panels.front().categories.size()) : 320),
        chart_(width, bottom_ + 54, of_.title, of_.subtitle, {.description = {}, .style = series_style_sheet}) {}

  std::string draw() {
    legend();
    std::size_t all_categories = 0;
    for (const panel& p : of_.panels) all_categories += width_in_categories(p);
    const double category_width =
        (right - left - gap * static_cast<double>(of_.panels.size() - 1)) / static_cast<double>(all_categories);
    double from = left;
    for (std::size_t k = 0; k < of_.panels.size(); ++k) {
      const double to = from + category_width * static_cast<double>(width_in_categories(of_.panels[k]));
      draw_panel(k, from, to);
      from = to + gap;
    }
    chart_.text((left + right) / 2, bottom_ + 42, "middle", "soft", of_.x);
    chart_.turned_text(18, (top + bottom_) / 2, "soft", of_.y);
    return chart_.done();
  }

 private:
  // Panels with few categories still have room for their title.
  std::size_t width_in_categories(const panel& p) const {
    return of_.is_across ? 1 : std::max<std::size_t>(p.categories.size(), 3);
  }

  void legend() {
    double x = left;
    for (std::size_t s = 0; s < of_.all_series.size(); ++s) {
      mark(s, x + 6, legend_y - 4);
      chart_.text(x + 18, legend_y, "start", "small", of_.all_series[s].name);
      x += 40 + 7.0 * static_cast<double>(of_.all_series[s].name.size());
    }
  }

  void draw_panel(std::size_t k, double from, double to) {
    const panel& p = of_.panels[k];
    chart_.text((from + to) / 2, panel_title_y, "middle", "strong", p.title);
    const auto ticks = picture::ticks(of_.low, of_.high, of_.is_across ? 4 : 6);
    const double spacing = ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
    for (const double tick : ticks) {
      const std::string_view style = tick == 0 ? "axis" : "grid";
      if (of_.is_across) {
        const double x = across(from, to)(tick);
        chart_.line(x, top, x, bottom_, style);
        chart_.text(x, bottom_ + 18, "middle", "small", picture::tick_text(tick, spacing));
      } else {
        chart_.line(from, up()(tick), to, up()(tick), style);
        if (k == 0) chart_.text(left - 8, up()(tick) + 4, "end", "small", picture::tick_text(tick, spacing));
      }
    }
    const double room = (to - from) / static_cast<double>(p.categories.size());
    const std::size_t step = of_.is_across || room > 30 ? 1 : 2;  // narrow panels have no room for every label
    for (std::size_t c = 0; c < p.categories.size(); c += step) {
      if (!of_.is_across) chart_.text(place(p, c, from, to), bottom_ + 18, "middle", "small", p.categories[c]);
      else if (k == 0) chart_.text(left - 8, place(p, c, top, bottom_) + 4, "end", "small", p.categories[c]);
    }
    for (std::size_t s = 0; s < of_.all_series.size(); ++s) draw_series(s, k, from, to);
  }

  void draw_series(std::size_t s, std::size_t k, double from, double to) {
    const auto& points = of_.all_series[s].panels[k];
    // Series stand side by side, so that their intervals do not cover one another.
    const double shift = (static_cast<double>(s) - static_cast<double>(of_.all_series.size() - 1) / 2) * 9;
    std::vector<std::pair<double, double>> places;
    for (std::size_t c = 0; c < points.size(); ++c) {
      const double middle = of_.is_across ? place(of_.panels[k], c, top, bottom_) + shift
                                          : place(of_.panels[k], c, from, to) + shift * 0.6;
      places.emplace_back(of_.is_across ? across(from, to)(points[c].middle) : middle,
                          of_.is_across ? middle : up()(points[c].middle));
    }
    if (!of_.is_across && places.size() > 1) {
      picture::svg_path joined(picture::coordinates::hundredths);
      joined.move(places.front().first, places.front().second);
      for (std::size_t c = 1; c < places.size(); ++c) joined.line(places[c].first, places[c].second);
      chart_.shape(joined, fmt::format("join {}", hue(s)));
    }
    for (std::size_t c = 0; c < points.size(); ++c) {
      const auto [x, y] = places[c];
      if (points[c].interval) {
        picture::svg_path bar(picture::coordinates::hundredths);
        const auto [low, high] = *points[c].interval;
        if (of_.is_across) bar.move(across(from, to)(low), y).horizontal(across(from, to)(high));
        else bar.move(x, up()(low)).vertical(up()(high));
        chart_.shape(bar, fmt::format("bar {}", hue(s)));
      }
      mark(s, x, y, tip(s, of_.panels[k].categories[c], points[c]));
    }
  }

  std::string tip(std::size_t s, std::string_view category, const point& p) const {
    std::string out = fmt::format("{}, {}: {:.1f}", of_.all_series[s].name, category, p.middle);
    if (p.interval) out += fmt::format(" ({:.1f} … {:.1f})", p.interval->first, p.interval->second);
    return out;
  }

  // Series across have one hue: the first is filled, others are open.
  std::string_view hue(std::size_t s) const { return series_styles[of_.is_across ? 3 : s]; }

  // Upwards: a square, two triangles, a circle, a diamond.
  void mark(std::size_t s, double x, double y, std::string_view tip = {}) {
    if (of_.is_across) {
      chart_.dot(x, y, 4, fmt::format("{} {}", s == 0 ? "solid" : "open", hue(s)), tip);
      return;
    }
    const std::string style = fmt::format("solid {}", hue(s));
    picture::svg_path outline(picture::coordinates::hundredths);
    switch (s) {
      case 0: outline.move(x - 4, y - 4).horizontal(x + 4).vertical(y + 4).horizontal(x - 4); break;
      case 1: outline.move(x - 5, y - 4).horizontal(x + 5).line(x, y + 5); break;
      case 2: outline.move(x - 5, y + 4).horizontal(x + 5).line(x, y - 5); break;
      case 3: chart_.dot(x, y, 4.5, style, tip); return;
      default: outline.move(x, y - 5.5).line(x + 5.5, y).line(x, y + 5.5).line(x - 5.5, y); break;
    }
    chart_.shape(outline, style, tip);
  }

  picture::scale up() const { return {of_.low, of_.high, bottom_, top}; }
  picture::scale across(double from, double to) const { return {of_.low, of_.high, from, to}; }
  static double place(const panel& p, std::size_t category, double from, double to) {
    return from + (to - from) * (static_cast<double>(category) + 0.5) / static_cast<double>(p.categories.size());
  }

  description of_;
  double bottom_;
  picture::chart chart_;
};

}  // namespace

std::string comparison_chart(std::string_view description_json) { return drawing(read(description_json)).draw(); }

}  // namespace digd::bench
