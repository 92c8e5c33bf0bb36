// Results as a table, as JSON and as a bar chart.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "analysis/whowhen/frameworks.h"
#include "analysis/whowhen/score.h"
#include "report/picture/chart.h"

namespace digd::whowhen {

namespace {

namespace json = boost::json;

double percent(double hits, std::size_t n) { return n == 0 ? 0 : 100 * hits / static_cast<double>(n); }

std::string with_interval(double hits, std::size_t n) {
  const interval i = wilson(hits, n);
  return fmt::format("{:5.1f} [{:.0f}, {:.0f}]", percent(hits, n), 100 * i.low, 100 * i.high);
}

json::array interval_of(double hits, std::size_t n) {
  const interval i = wilson(hits, n);
  return {i.low, i.high};
}

struct compared {
  std::string method;
  difference agent, step;
};

// Every other method that answered as many logs, minus the reference.
std::vector<compared> compare_with(const results& r, const std::string& reference) {
  const auto at = r.outcomes.find(reference);
  if (at == r.outcomes.end()) return {};
  const auto column = [](const std::vector<std::array<bool, 2>>& outcomes, std::size_t k) {
    std::vector<double> out;
    out.reserve(outcomes.size());
    for (const auto& o : outcomes) out.push_back(o[k] ? 1 : 0);
    return out;
  };
  const auto less = [&](const std::vector<std::array<bool, 2>>& ours, std::size_t k) {
    return paired_difference(column(ours, k), column(at->second, k));
  };
  std::vector<compared> out;
  for (const std::string& name : r.order) {
    const auto other = r.outcomes.find(name);
    if (name == reference || other == r.outcomes.end() || other->second.size() != at->second.size()) continue;
    out.push_back({name, less(other->second, 0), less(other->second, 1)});
  }
  return out;
}

json::object json_of(const difference& d) { return {{"mean", d.mean}, {"interval", json::array{d.low, d.high}}}; }

}  // namespace

std::string as_table(const results& r) {
  std::string out;
  for (const auto& [subset, methods] : r.by_subset) {
    const std::size_t n = methods.empty() ? 0 : methods.begin()->second.n;
    out += fmt::format("{} ({} logs; %, 95% intervals in brackets)\n", subset, n);
    out += fmt::format("  {:<32}{:>5}{:>7}  {:<18}{:<18}{:>5}{:>5}{:>5}{:>5}{:>5} {:>10} {:>8} {:>8}\n", "method",
                       "top-3", "top-5", "agent", "step", "±1", "±2", "±3", "±4", "±5", "ms/case", "tokens", "cost");
    for (const std::string& name : r.order) {
      const auto at = methods.find(name);
      if (at == methods.end()) continue;
      const tally& t = at->second;
      const double count = std::max<double>(1, static_cast<double>(t.n));
      out += fmt::format("  {:<32}{:5.0f}{:7.0f}  {:<18}{:<18}", name, percent(t.top3, t.n), percent(t.top5, t.n),
                         with_interval(t.agent, t.n), with_interval(t.step, t.n));
      for (double w : t.within) out += fmt::format("{:5.0f}", percent(w, t.n));
      out += fmt::format(" {:10.2f} {:8.0f} {:8.4f}", 1000 * t.seconds / count, static_cast<double>(t.tokens) / count,
                         t.cost / count);
      out += t.failed ? fmt::format("  ({} without an answer)\n", t.failed) : "\n";
    }
  }
  return out;
}

std::string paired_table(const results& r, const std::string& reference) {
  const std::vector<compared> rows = compare_with(r, reference);
  if (rows.empty()) return {};
  const auto shown = [](const difference& d) {
    return fmt::format("{:+.1f} [{:+.1f}, {:+.1f}]", 100 * d.mean, 100 * d.low, 100 * d.high);
  };
  std::string out = fmt::format("Difference to {} on the same {} logs (%, paired 95% intervals)\n  {:<32}{:<26}{}\n",
                                reference, r.outcomes.at(reference).size(), "method", "agent", "step");
  for (const compared& c : rows) out += fmt::format("  {:<32}{:<26}{}\n", c.method, shown(c.agent), shown(c.step));
  return out;
}

std::string as_json(const results& r, const std::string& reference) {
  json::object out;
  for (const auto& [subset, methods] : r.by_subset) {
    json::object objects;
    for (const std::string& name : r.order) {
      const auto at = methods.find(name);
      if (at == methods.end()) continue;
      const tally& t = at->second;
      const double count = std::max<double>(1, static_cast<double>(t.n));
      json::object object{{"agent", t.agent / count}, {"step", t.step / count}, {"n", t.n}};
      object["agent_interval"] = interval_of(t.agent, t.n);
      object["step_interval"] = interval_of(t.step, t.n);
      for (std::size_t k = 0; k < tolerances; ++k) object["step_within_" + std::to_string(k + 1)] = t.within[k] / count;
      object["top_3"] = t.top3 / count;
      object["top_5"] = t.top5 / count;
      object["without_answer"] = t.failed;
      object["ms_per_case"] = 1000 * t.seconds / count;
      object["tokens_per_case"] = static_cast<double>(t.tokens) / count;
      object["cost_per_case"] = t.cost / count;
      objects[name] = std::move(object);
    }
    out[subset] = std::move(objects);
  }
  if (json::object paired; !reference.empty()) {
    for (const compared& c : compare_with(r, reference))
      paired[c.method] = json::object{{"agent", json_of(c.agent)}, {"step", json_of(c.step)}};
    out["difference_to " + reference] = std::move(paired);
  }
  return json::serialize(out);
}

std::string as_svg(const results& r) {
  constexpr double top = 96, row = 18, left = 210, width = 300, column = width + 60, gap = 34;
  double height = top;
  for (const auto& [subset, methods] : r.by_subset) height += gap + row * static_cast<double>(methods.size());
  picture::chart chart(left + 2 * column + 20, height, "How often each method names the right agent and step",
                       "the lines are 95% intervals");
  chart.text(left, 76, "start", "strong", "right agent, %");
  chart.text(left + column, 76, "start", "strong", "right step, %");
  double y = top;
  for (const auto& [subset, methods] : r.by_subset) {
    const std::size_t logs = methods.empty() ? 0 : methods.begin()->second.n;
    chart.text(24, y, "start", "strong", fmt::format("{} (n = {})", subset, logs));
    y += 10;
    for (const std::string& name : r.order) {
      const auto at = methods.find(name);
      if (at == methods.end()) continue;
      chart.text(left - 8, y + 13, "end", "small", name);
      double x = left;
      for (const double hits : {at->second.agent, at->second.step}) {
        const double p = percent(hits, at->second.n) / 100;
        const interval i = wilson(hits, at->second.n);
        chart.rect(x, y + 2, p * width, row - 5, "span");
        chart.error_bar_across(x + i.low * width, x + i.high * width, y + 8);
        chart.text(x + std::max(p, i.high) * width + 6, y + 13, "start", "small", fmt::format("{:.1f}", 100 * p));
        x += column;
      }
      y += row;
    }
    y += gap - 10;
  }
  return chart.done();
}

}  // namespace digd::whowhen
