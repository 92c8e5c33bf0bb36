#include "bench/growth_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "report/picture/chart.h"

namespace digd::bench {

namespace {

using points = std::vector<std::pair<double, double>>;  // log10 of the events, log10 of the nanoseconds

// log10 ns = middle_y + exponent · (log10 events − middle_x), by least squares.
struct fitted_curve {
  double exponent = 0, middle_x = 0, middle_y = 0;
  double operator()(double x) const { return middle_y + exponent * (x - middle_x); }
};

fitted_curve fit(const points& measured) {
  fitted_curve curve;
  const auto count = static_cast<double>(measured.size());
  for (const auto& [x, y] : measured) {
    curve.middle_x += x / count;
    curve.middle_y += y / count;
  }
  double covariance = 0, variance = 0;
  for (const auto& [x, y] : measured) {
    covariance += (x - curve.middle_x) * (y - curve.middle_y);
    variance += (x - curve.middle_x) * (x - curve.middle_x);
  }
  curve.exponent = covariance / variance;
  return curve;
}

points read_figure(const boost::json::array& stretches, std::string_view figure) {
  points out;
  for (const boost::json::value& stretch : stretches) {
    const double events = stretch.at("events").to_number<double>(), ns = stretch.at(figure).to_number<double>();
    out.emplace_back(std::log10(events), std::log10(std::max(ns, 100.0)));
  }
  return out;
}

std::string with_commas(double x) {
  std::string digits = fmt::format("{:.0f}", x);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace

std::string growth_chart(std::string_view measured_json) {
  constexpr double width = 680, height = 360, left = 88, right = 590, top = 78, bottom = 310;
  const boost::json::value measured = boost::json::parse(measured_json);
  const boost::json::value* const found =
      measured.is_object() ? measured.get_object().if_contains("stretches") : nullptr;
  if (!found || !found->is_array()) throw std::runtime_error("expected the output of `digd-growth long`");
  const boost::json::array& stretches = found->get_array();
  if (stretches.size() < 2) throw std::runtime_error("a chart needs at least two lengths");
  const points median = read_figure(stretches, "p50_ns"), slow = read_figure(stretches, "p99_ns");
  double highest = 3;
  for (const auto& [events, ns] : slow) highest = std::max(highest, std::ceil(ns));
  const picture::scale x{median.front().first, median.back().first, left, right};
  const picture::scale y{2, highest, bottom, top};

  picture::chart chart(width, height, "Nanoseconds an event by the length of the run",
                       "the thin lines are fitted curves");
  for (int power = 2; power <= static_cast<int>(highest); ++power) {
    chart.line(left, y(power), right, y(power), "grid");
    chart.text(left - 8, y(power) + 4, "end", "small", with_commas(std::pow(10, power)) + " ns");
  }
  for (const auto& [events, ns] : median)
    chart.text(x(events), bottom + 18, "middle", "small", with_commas(std::round(std::pow(10, events))));
  chart.text((left + right) / 2, bottom + 38, "middle", "soft", "events of the run");
  for (const auto& [figure, style, name] : {std::tuple{&median, "sum", "median"}, std::tuple{&slow, "seen", "99 %"}}) {
    points places;
    for (const auto& [events, ns] : *figure) places.emplace_back(x(events), y(ns));
    const fitted_curve curve = fit(*figure);
    chart.path(places, style);
    chart.line(left, y(curve(x.low)), right, y(curve(x.high)), "axis", "fitted curve");
    chart.text(right + 8, places.back().second + 2, "start", "strong", name);
    chart.text(right + 8, places.back().second + 18, "start", "small", fmt::format("~ n^{:.2f}", curve.exponent));
  }
  return chart.done();
}

}  // namespace digd::bench
