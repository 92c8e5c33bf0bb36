#include "analysis/causal/factors/series.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace digd::causal {

namespace {

template <class of>
series per_activation(const run_facts& f, of&& value) {
  series out;
  for (const auto& a : f.activations) out.push_back(static_cast<double>(value(a)));
  return out;
}

template <class of>
series per_event(const run_facts& f, of&& value) {
  series out;
  for (const auto& e : f.events) out.push_back(static_cast<double>(value(e)));
  return out;
}

template <reaction counted>
series reactions(const run_facts& f) {
  return per_activation(f, [](const auto& a) { return std::count(a.reactions.begin(), a.reactions.end(), counted); });
}

series durations(const run_facts& f) {
  return per_activation(f, [&](const auto& a) { return a.ended_ms.value_or(f.last_ms) - a.started_ms; });
}

series starts(const run_facts& f) {
  series out;
  for (std::size_t i = 1; i < f.activations.size(); ++i) {
    out.push_back(static_cast<double>(f.activations[i].started_ms - f.activations[i - 1].started_ms));
  }
  return out;
}

series consume_delays(const run_facts& f) {
  series out;
  for (const auto& e : f.events) {
    if (e.consumed_ms) out.push_back(static_cast<double>(*e.consumed_ms - e.at_ms));
  }
  return out;
}

series loads(const run_facts& f) {
  series out(f.agents.size(), 0.0);
  for (const auto& a : f.activations) ++out[a.agent];
  return out;
}

double sum(const series& s, double) { return std::accumulate(s.begin(), s.end(), 0.0); }
double mean(const series& s, double) { return s.empty() ? 0 : sum(s, 0) / static_cast<double>(s.size()); }

double sd(const series& s, double) {
  if (s.size() < 2) return 0;
  const double m = mean(s, 0);
  double squares = 0;
  for (double x : s) squares += (x - m) * (x - m);
  return std::sqrt(squares / static_cast<double>(s.size() - 1));
}

double slope(const series& s, double) {
  if (s.size() < 2) return 0;
  const double middle = static_cast<double>(s.size() - 1) / 2, m = mean(s, 0);
  double up = 0, down = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double t = static_cast<double>(i) - middle;
    up += t * (s[i] - m);
    down += t * t;
  }
  return up / down;
}

double quantile(const series& s, double q) {
  if (s.empty()) return 0;
  series sorted = s;
  std::sort(sorted.begin(), sorted.end());
  const double at = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// The best value, by `is_better`, of a statistic over all windows of w neighbours. A shorter series is one window.
template <class statistic, class better>
double rolling(const series& s, double w, statistic&& of, better&& is_better) {
  if (s.empty()) return 0;
  const std::size_t width =
      std::clamp<std::size_t>(w < 1 ? 1 : static_cast<std::size_t>(std::min(w, 1e9)), 1, s.size());
  double best = 0;
  for (std::size_t i = 0; i + width <= s.size(); ++i) {
    const double x =
        of(series(s.begin() + static_cast<std::ptrdiff_t>(i), s.begin() + static_cast<std::ptrdiff_t>(i + width)), 0.0);
    if (i == 0 || is_better(x, best)) best = x;
  }
  return best;
}

// The agent graph, agents × agents: [a][b] is 1 if an activation of a announced an event for b, a ≠ b.
std::vector<std::vector<char>> agent_graph(const run_facts& f) {
  std::vector<std::vector<char>> out(f.agents.size(), std::vector<char>(f.agents.size(), 0));
  for (const auto& e : f.events) {
    if (e.source == no_index) continue;
    const std::size_t from = f.activations[e.source].agent;
    for (std::size_t to : e.recipients) {
      if (to != from) out[from][to] = 1;
    }
  }
  return out;
}

double density(const run_facts& f) {
  const auto g = agent_graph(f);
  double edges = 0;
  for (const auto& row : g) edges += std::accumulate(row.begin(), row.end(), 0.0);
  const auto n = static_cast<double>(g.size());
  return n > 1 ? edges / (n * (n - 1)) : 0;
}

double reciprocity(const run_facts& f) {
  const auto g = agent_graph(f);
  double edges = 0, both = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    for (std::size_t j = 0; j < g.size(); ++j) edges += g[i][j], both += g[i][j] && g[j][i];
  }
  return edges > 0 ? both / edges : 0;
}

double clustering(const run_facts& f) {
  auto g = agent_graph(f);
  for (std::size_t i = 0; i < g.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) g[i][j] = g[j][i] = g[i][j] || g[j][i];
  }
  double closed = 0, open = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    for (std::size_t j = 0; j < g.size(); ++j) {
      if (!g[i][j]) continue;
      for (std::size_t k = j + 1; k < g.size(); ++k) {
        if (!g[i][k]) continue;
        ++open;
        closed += g[j][k];
      }
    }
  }
  return open > 0 ? closed / open : 0;
}

// In-degree centralization (Freeman 1978): 0 if all agents receive from equally many, 1 if one receives from all.
double centralization(const run_facts& f) {
  const auto g = agent_graph(f);
  const auto n = static_cast<double>(g.size());
  if (g.size() < 2) return 0;
  std::vector<double> in(g.size(), 0.0);
  for (const auto& row : g) {
    for (std::size_t j = 0; j < g.size(); ++j) in[j] += row[j];
  }
  const double largest_in_degree = *std::max_element(in.begin(), in.end());
  double off = 0;
  for (double d : in) off += largest_in_degree - d;
  return off / ((n - 1) * (n - 1));
}

double components(const run_facts& f) {
  const auto g = agent_graph(f);
  std::vector<char> seen(g.size(), 0);
  double count = 0;
  for (std::size_t s = 0; s < g.size(); ++s) {
    if (seen[s]) continue;
    ++count;
    std::vector<std::size_t> todo{s};
    seen[s] = 1;
    while (!todo.empty()) {
      const std::size_t i = todo.back();
      todo.pop_back();
      for (std::size_t j = 0; j < g.size(); ++j) {
        if (seen[j] || !(g[i][j] || g[j][i])) continue;
        seen[j] = 1;
        todo.push_back(j);
      }
    }
  }
  return count;
}

}  // namespace

series_maker find_series(std::string_view name) {
  static const std::map<std::string_view, series_maker> known{
      {"durations", durations},
      {"waits", reactions<reaction::wait>},
      {"discards", reactions<reaction::discard>},
      {"reroutes", reactions<reaction::reroute>},
      {"consumes", reactions<reaction::consume>},
      {"outputs", [](const run_facts& f) { return per_activation(f, [](const auto& a) { return a.outputs; }); }},
      {"inputs", [](const run_facts& f) { return per_activation(f, [](const auto& a) { return a.inputs.size(); }); }},
      {"fan_outs", [](const run_facts& f) { return per_event(f, [](const auto& e) { return e.recipients.size(); }); }},
      {"depths", [](const run_facts& f) { return per_event(f, [](const auto& e) { return e.depth; }); }},
      {"consumers", [](const run_facts& f) { return per_event(f, [](const auto& e) { return e.consumers.size(); }); }},
      {"consume_delays", consume_delays},
      {"starts", starts},
      {"pending", [](const run_facts& f) { return series(f.pending.begin(), f.pending.end()); }},
      {"loads", loads}};
  const auto at = known.find(name);
  return at == known.end() ? nullptr : at->second;
}

measure find_measure(std::string_view name) {
  static const std::map<std::string_view, measure> known{
      {"count", {[](const series& s, double) { return static_cast<double>(s.size()); }, false}},
      {"sum", {sum, false}},
      {"mean", {mean, false}},
      {"sd", {sd, false}},
      {"min", {[](const series& s, double) { return s.empty() ? 0 : *std::min_element(s.begin(), s.end()); }, false}},
      {"max", {[](const series& s, double) { return s.empty() ? 0 : *std::max_element(s.begin(), s.end()); }, false}},
      {"first", {[](const series& s, double) { return s.empty() ? 0 : s.front(); }, false}},
      {"last", {[](const series& s, double) { return s.empty() ? 0 : s.back(); }, false}},
      {"slope", {slope, false}},
      {"quantile", {quantile, true}},
      {"rolling_max", {[](const series& s, double w) { return rolling(s, w, mean, std::greater<>()); }, true}},
      {"rolling_min", {[](const series& s, double w) { return rolling(s, w, mean, std::less<>()); }, true}},
      {"rolling_sd", {[](const series& s, double w) { return rolling(s, w, sd, std::greater<>()); }, true}}};
  const auto at = known.find(name);
  return at == known.end() ? measure{} : at->second;
}

graph_measure find_graph_measure(std::string_view name) {
  static const std::map<std::string_view, graph_measure> known{{"density", density},
                                                               {"reciprocity", reciprocity},
                                                               {"clustering", clustering},
                                                               {"centralization", centralization},
                                                               {"components", components}};
  const auto at = known.find(name);
  return at == known.end() ? nullptr : at->second;
}

double activation_share(const run_facts& f, std::string_view agent) {
  double own = 0;
  for (const auto& a : f.activations) own += f.agents[a.agent] == agent;
  return f.activations.empty() ? 0 : own / static_cast<double>(f.activations.size());
}

}  // namespace digd::causal
