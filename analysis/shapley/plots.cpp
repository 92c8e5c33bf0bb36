// The three pictures of an attribution, after figures 3, 4 and 5 of Interpreting Emergent Extreme Events in MAS.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/shapley/report.h"
#include "base/text.h"
#include "report/picture/chart.h"

namespace digd::shapley {

namespace {

using picture::chart, picture::chart_look, picture::scale, picture::scale_for, picture::tick_text, picture::ticks;

constexpr double width = 900, top = 96;
constexpr double interval = 1.96;  // standard errors of a 95% interval
constexpr std::size_t max_bars = 40;
constexpr double label_width = 130;  // of the label with T* and L

std::string subtitle(const report& r) {
  return fmt::format("{}{} · {}, {} samples{}", r.game.title(), r.game.synthetic() ? " · SYNTHETIC" : "",
                     to_string(r.result.estimator), r.result.samples, r.result.interrupted ? " (interrupted)" : "");
}

const char* side(double x) { return x < 0 ? "down" : "up"; }

struct key {
  const char* style;
  bool is_line;
  const char* text;
};

void legend(chart& to, std::initializer_list<key> keys) {
  double x = 24;
  for (const key& k : keys) {
    if (k.is_line) {
      to.line(x, 72, x + 24, 72, k.style);
    } else {
      to.rect(x + 6, 66, 12, 12, k.style);
    }
    to.text(x + 30, 76, "start", "small", k.text);
    x += 46 + 6.6 * static_cast<double>(std::char_traits<char>::length(k.text));
  }
}

std::string cut(const std::string& name, std::size_t max_bytes) {
  if (name.size() <= max_bytes) return name;
  return std::string(utf8_prefix(name, max_bytes - 1)) + "…";
}

// Horizontal bars with error bars, in the given order.
void bars(chart& to, const scored& of, const std::vector<std::size_t>& order, const std::vector<std::string>& names,
          const scale& x, double row) {
  double y = top;
  for (const std::size_t i : order) {
    const double v = of.value[i], e = interval * of.error[i];
    to.text(x.from - 10, y + row / 2 + 4, "end", "", cut(names[i], 26));
    to.rect(std::min(x(0), x(v)), y + row * 0.18, std::abs(x(v) - x(0)), row * 0.64, side(v),
            fmt::format("{}: {:.5g} ± {:.2g} (95%)", names[i], v, e));
    if (e > 0) to.error_bar_across(x(v - e), x(v + e), y + row / 2);
    y += row;
  }
}

std::vector<std::size_t> highest_first(const scored& of) {
  std::vector<std::size_t> order(of.value.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // If there are too many, only those with the largest |φ|.
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return std::abs(of.value[a]) > std::abs(of.value[b]); });
  if (order.size() > max_bars) order.resize(max_bars);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return of.value[a] > of.value[b]; });
  return order;
}

std::vector<double> with_errors(const scored& of) {
  std::vector<double> values;
  for (std::size_t i = 0; i < of.value.size(); ++i) {
    values.push_back(of.value[i] - interval * of.error[i]);
    values.push_back(of.value[i] + interval * of.error[i]);
  }
  return values;
}

}  // namespace

std::string plot_steps(const report& r, const chart_look& look) {
  const scored& step = r.result.by_step;
  const std::size_t steps = step.value.size();
  constexpr double left = 84, right = width - 24, bottom = 470;
  std::vector<double> sums(steps), shown = with_errors(step);
  std::partial_sum(step.value.begin(), step.value.end(), sums.begin());
  shown.insert(shown.end(), sums.begin(), sums.end());
  shown.insert(shown.end(), r.risk_curve.begin(), r.risk_curve.end());
  const double limit = r.q * r.threshold;
  shown.push_back(limit);
  chart to(width, 520, "When: risk contribution of each step", subtitle(r), look);
  legend(to, {{"up", false, "adds risk"},
              {"down", false, "takes risk away"},
              {"sum", true, "cumulative risk, sum of contributions"},
              {"seen", true, "observed risk above the baseline"},
              {"limit", true, "q·ρ"}});
  const scale y = scale_for(shown, bottom, top);
  to.y_axis(y, left, right, "risk");
  const double slot = (right - left) / static_cast<double>(steps);
  const auto middle = [&](std::size_t t) { return left + slot * (static_cast<double>(t) + 0.5); };
  const std::size_t each = std::max<std::size_t>(1, (steps + 29) / 30);
  for (std::size_t t = 0; t < steps; ++t) {
    const double v = step.value[t], e = interval * step.error[t];
    to.rect(middle(t) - slot * 0.36, std::min(y(0), y(v)), slot * 0.72, std::abs(y(v) - y(0)), side(v),
            fmt::format("step {}: {:.5g} ± {:.2g} (95%), cumulative {:.5g}", t + 1, v, e, sums[t]));
    if (e > 0 && slot > 8) to.error_bar_up(middle(t), y(v - e), y(v + e));
    if (t % each == 0) to.text(middle(t), bottom + 18, "middle", "small", std::to_string(t + 1));
  }
  std::vector<std::pair<double, double>> line;
  for (std::size_t t = 0; t < r.risk_curve.size(); ++t) line.emplace_back(middle(t), y(r.risk_curve[t]));
  if (!line.empty()) to.path(line, "seen");
  line.clear();
  for (std::size_t t = 0; t < steps; ++t) line.emplace_back(middle(t), y(sums[t]));
  to.path(line, "sum");
  to.line(left, y(limit), right, y(limit), "limit", fmt::format("q·ρ = {:.5g}", limit));
  if (r.metrics.formed) {
    const std::size_t t = *r.metrics.formed - 1;
    const bool to_the_left = middle(t) > right - label_width;
    to.dot(middle(t), y(sums[t]), 5, "ring", fmt::format("T* = {}", *r.metrics.formed));
    to.text(middle(t) + (to_the_left ? -10 : 10), y(sums[t]) - 8, to_the_left ? "end" : "start", "",
            fmt::format("T* = {}, L = {:.2f}", *r.metrics.formed, r.metrics.latency));
  }
  to.text((left + right) / 2, bottom + 38, "middle", "soft", "step");
  return to.done();
}

std::string plot_agents(const report& r, const chart_look& look) {
  const scored& agent = r.result.by_agent;
  const std::vector<std::size_t> order = highest_first(agent);
  const double row = order.size() > 20 ? 18 : 26;
  const double bottom = top + row * static_cast<double>(order.size());
  chart to(width, std::max(bottom + 60, 360.0), "Who: risk contribution of each agent",
           subtitle(r) + fmt::format(" · G = {:.2f}, C = {:.2f}, Z = {:.2f}", r.metrics.agent_concentration,
                                     r.metrics.instability_correlation, r.metrics.synchronization),
           look);
  legend(to, {{"up", false, "adds risk"}, {"down", false, "takes risk away"}, {"bar-error", true, "95% interval"}});
  const scale x = scale_for(with_errors(agent), 190, 520);
  to.x_axis(x, top, bottom, "contribution");
  bars(to, agent, order, r.game.players().agent_names, x, row);

  // On the right: instability against |contribution|, the two quantities that C_ag correlates.
  std::vector<double> sizes;
  sizes.reserve(agent.value.size());
  for (const double v : agent.value) sizes.push_back(std::abs(v));
  const double low = std::max(bottom, 300.0);
  scale across = scale_for(sizes, 630, width - 24), up = scale_for(r.metrics.instability, low, top);
  to.x_axis(across, top, low, "|contribution|");
  const std::vector<double> marks = ticks(up.low, up.high, 5);
  for (const double v : marks) {
    to.line(across.from, up(v), across.to, up(v), v == 0 ? "axis" : "grid");
    to.text(across.from - 8, up(v) + 4, "end", "small", tick_text(v, marks.size() > 1 ? marks[1] - marks[0] : 1));
  }
  to.turned_text(566, (top + low) / 2, "soft", "instability (deviation over steps)");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    to.dot(across(sizes[i]), up(r.metrics.instability[i]), 4.5, side(agent.value[i]),
           fmt::format("{}: |φ| {:.5g}, instability {:.5g}", r.game.players().agent_names[i], sizes[i],
                       r.metrics.instability[i]));
  }
  return to.done();
}

std::string plot_behaviours(const report& r, const chart_look& look) {
  const scored& behaviour = r.result.by_behaviour;
  const std::vector<std::size_t> order = highest_first(behaviour);
  constexpr double row = 30;
  const double bottom = top + row * static_cast<double>(std::max<std::size_t>(1, order.size()));
  chart to(width, bottom + 60, "What: risk contribution of each behaviour",
           subtitle(r) + fmt::format(" · G = {:.2f}", r.metrics.behaviour_concentration), look);
  legend(to, {{"up", false, "adds risk"}, {"down", false, "takes risk away"}, {"bar-error", true, "95% interval"}});
  const scale x = scale_for(with_errors(behaviour), 240, width - 24);
  to.x_axis(x, top, bottom, "contribution");
  bars(to, behaviour, order, r.game.players().behaviour_names, x, row);
  return to.done();
}

}  // namespace digd::shapley
