#include "analysis/whowhen/frameworks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>
#include <map>
#include <stdexcept>

#include "analysis/whowhen/planted_frameworks.h"
#include "analysis/whowhen/validate.h"
#include "report/picture/chart.h"

namespace digd::whowhen {

namespace {

namespace json = boost::json;

constexpr std::size_t max_frameworks = 5;

bool among_first(const labelled_log& l, const answer& a, std::size_t top) {
  const auto end = a.steps.begin() + static_cast<std::ptrdiff_t>(std::min(top, a.steps.size()));
  return std::find(a.steps.begin(), end, l.step) != end;
}

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return x.empty() ? 0 : sum / static_cast<double>(x.size());
}

std::string figure(const left_out_figure& f) {
  return fmt::format("{:5.1f}  {:5.1f} {:<25}{:+6.1f} [{:+.1f}, {:+.1f}]", 100 * f.hits, 100 * f.constant_hits,
                     f.best_constant, 100 * f.gain.mean, 100 * f.gain.low, 100 * f.gain.high);
}

json::object json_of(const left_out_figure& f) {
  return {{"chief", f.hits},
          {"best_constant", f.best_constant},
          {"constant", f.constant_hits},
          {"difference", f.gain.mean},
          {"interval", json::array{f.gain.low, f.gain.high}}};
}

}  // namespace

double hit_agent(const labelled_log& l, const answer& a) { return a.agent == l.agent ? 1 : 0; }
double hit_step(const labelled_log& l, const answer& a) { return among_first(l, a, 1) ? 1 : 0; }

left_out_figure compare_to_constants(const std::vector<const labelled_log*>& logs, const std::vector<double>& ours,
                                     double (*hit)(const labelled_log&, const answer&)) {
  left_out_figure out{.hits = mean(ours), .best_constant = {}, .constant_hits = -1, .gain = {}};
  for (const constant& c : constants) {
    std::vector<double> theirs;
    theirs.reserve(logs.size());
    for (const labelled_log* l : logs) theirs.push_back(hit(*l, c.text(*l)));
    if (mean(theirs) <= out.constant_hits) continue;
    out.best_constant = c.name;
    out.constant_hits = mean(theirs);
    out.gain = paired_difference(ours, theirs);
  }
  return out;
}

difference paired_difference(const std::vector<double>& ours, const std::vector<double>& theirs) {
  constexpr double z = 1.959963984540054;
  double better = 0, worse = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    better += ours[i] > theirs[i];
    worse += ours[i] < theirs[i];
  }
  const double n = static_cast<double>(ours.size());
  if (n == 0) return {0, -1, 1};
  const double b = better + 0.5, w = worse + 0.5, m = n + 2, d = (b - w) / m;
  const double half = z * std::sqrt(std::max(0.0, b + w - (b - w) * (b - w) / m)) / m;
  return {(better - worse) / n, d - half, d + half};
}

std::vector<labelled_log> simulated_frameworks(std::size_t runs, std::uint64_t seed) {
  std::vector<labelled_log> out;
  for (std::size_t style = 0; style < log_styles.size(); ++style) {
    for (std::size_t i = 0; i < runs; ++i)
      out.push_back(planted_framework_run(static_cast<log_style>(style), seed + i));
  }
  return out;
}

chief::ranker_set train_without(const std::vector<labelled_log>& logs, const std::vector<chief::lesson>& lessons,
                                const std::set<std::string>& left_out) {
  std::vector<const chief::lesson*> rest;
  std::vector<std::size_t> fold;
  std::map<std::string, std::size_t> number;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const std::size_t theirs = number.try_emplace(logs[i].subset, number.size()).first->second;
    if (!left_out.contains(logs[i].subset)) rest.push_back(&lessons[i]), fold.push_back(theirs);
  }
  chief::ranker_set rankers = chief::train(rest, calibrate_generic(rest, fold), chief::trains_generic);
  rankers.calibrated = true;
  return rankers;
}

transfer leave_one_framework_out(std::vector<labelled_log> logs) {
  transfer out;
  std::set<std::string> subsets;
  for (labelled_log& l : logs) {
    subsets.insert(l.subset);
    l.log.framework = chief::known_framework::none;  // no evaluators of its own
  }
  if (subsets.size() > max_frameworks) throw std::invalid_argument("more than 5 frameworks");
  const std::vector<chief::lesson> lessons = lessons_of(logs);
  out.answers.resize(logs.size());
  for (const std::string& framework : subsets) {
    const chief::ranker_set rankers = train_without(logs, lessons, {framework});
    left_out row{.framework = framework};
    std::vector<const labelled_log*> own;
    std::vector<double> agents, steps, top3, top5;
    tally random;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      if (logs[i].subset != framework) continue;
      const answer& a = out.answers[i] = answer_of(logs[i], rankers);
      own.push_back(&logs[i]);
      row.proven += a.proven;
      agents.push_back(hit_agent(logs[i], a));
      steps.push_back(hit_step(logs[i], a));
      top3.push_back(among_first(logs[i], a, 3) ? 1 : 0);
      top5.push_back(among_first(logs[i], a, 5) ? 1 : 0);
      add_random(random, logs[i]);
    }
    row.logs = own.size();
    row.agent = compare_to_constants(own, agents, hit_agent);
    row.step = compare_to_constants(own, steps, hit_step);
    row.top3 = mean(top3);
    row.top5 = mean(top5);
    row.random_step = random.n > 0 ? random.step / static_cast<double>(random.n) : 0;
    out.frameworks.push_back(std::move(row));
  }
  out.logs = std::move(logs);
  return out;
}

std::string as_table(const transfer& t) {
  std::string out =
      "Each framework was left out of training; %, with the paired 95% interval of the difference to the "
      "best constant\n";
  out += fmt::format("{:<22}{:>5}{:>8}{:>7}{:>7}  {:<6}{:>6}  {:<7}{:<26}{:<20}\n", "left out", "logs", "proven",
                     "top-3", "top-5", "", "chief", "best", "constant", "difference");
  for (const left_out& l : t.frameworks) {
    out += fmt::format("{:<22}{:>5}{:>8}{:7.1f}{:7.1f}  {:<6}{}\n", l.framework, l.logs, l.proven, 100 * l.top3,
                       100 * l.top5, "agent", figure(l.agent));
    out += fmt::format("{:<49}  {:<6}{}  (chance {:.1f})\n", "", "step", figure(l.step), 100 * l.random_step);
  }
  return out;
}

std::string as_json(const transfer& t) {
  json::array rows;
  for (const left_out& l : t.frameworks) {
    rows.push_back(json::object{{"left_out", l.framework},
                                {"logs", l.logs},
                                {"proven", l.proven},
                                {"agent", json_of(l.agent)},
                                {"step", json_of(l.step)},
                                {"top3", l.top3},
                                {"top5", l.top5},
                                {"random_step", l.random_step}});
  }
  return json::serialize(json::object{{"frameworks", std::move(rows)}});
}

std::vector<reliability_bin> reliability(const std::vector<labelled_log>& logs, const std::vector<answer>& answers) {
  constexpr double edges[] = {0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0};
  std::vector<reliability_bin> bins;
  for (std::size_t k = 0; k + 1 < std::size(edges); ++k) bins.push_back({.from = edges[k], .to = edges[k + 1]});
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].proven) continue;
    for (std::size_t k = 0; k < answers[i].probabilities.size(); ++k) {
      const double p = answers[i].probabilities[k];
      auto bin = std::find_if(bins.begin(), bins.end(), [p](const reliability_bin& b) { return p < b.to; });
      if (bin == bins.end()) --bin;
      bin->predicted += p;
      ++bin->steps;
      bin->decisive += answers[i].steps[k] == logs[i].step;
    }
  }
  for (reliability_bin& b : bins) b.predicted /= static_cast<double>(std::max<std::size_t>(b.steps, 1));
  return bins;
}

std::string reliability_table(const std::vector<reliability_bin>& bins) {
  std::string out =
      fmt::format("{:<14}{:>7}{:>12}{:>10}  {}\n", "probability", "steps", "predicted %", "decisive %", "95% interval");
  for (const reliability_bin& b : bins) {
    if (b.steps == 0) continue;
    const interval i = wilson(static_cast<double>(b.decisive), b.steps);
    out += fmt::format("{:<14}{:>7}{:>12.1f}{:>10.1f}  [{:.1f}, {:.1f}]\n",
                       fmt::format("{:g}-{:g} %", 100 * b.from, 100 * b.to), b.steps, 100 * b.predicted,
                       100 * static_cast<double>(b.decisive) / static_cast<double>(b.steps), 100 * i.low, 100 * i.high);
  }
  return out;
}

std::string reliability_svg(const std::vector<reliability_bin>& bins, const std::string& title) {
  constexpr double left = 72, top = 70, side = 360;
  const auto x = [&](double p) { return left + side * std::sqrt(p); };  // a square-root scale shows the low bins
  const auto y = [&](double p) { return top + side * (1 - std::sqrt(p)); };
  picture::chart chart(left + side + 28, top + side + 56, title, "the lines are 95% intervals");
  for (const double p : {0.0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0}) {
    const std::string_view style = p == 0 ? "axis" : "grid";
    const std::string label = fmt::format("{:g}", 100 * p);
    chart.line(x(p), top, x(p), top + side, style);
    chart.line(left, y(p), left + side, y(p), style);
    chart.text(x(p), top + side + 18, "middle", "small", label);
    chart.text(left - 8, y(p) + 4, "end", "small", label);
  }
  chart.line(left, top + side, left + side, top, "limit", "decisive as often as predicted");
  chart.text(left + side / 2, top + side + 42, "middle", "soft", "predicted, %");
  chart.turned_text(24, top + side / 2, "soft", "decisive, %");
  for (const reliability_bin& b : bins) {
    if (b.steps == 0) continue;
    const interval i = wilson(static_cast<double>(b.decisive), b.steps);
    const double share = static_cast<double>(b.decisive) / static_cast<double>(b.steps);
    chart.error_bar_up(x(b.predicted), y(i.low), y(i.high));
    chart.dot(x(b.predicted), y(share), 4, "busy", fmt::format("{} steps", b.steps));
  }
  return chart.done();
}

}  // namespace digd::whowhen
