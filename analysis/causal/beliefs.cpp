#include "analysis/causal/beliefs.h"

#include <algorithm>

#include "analysis/causal/factors/plain_name.h"

namespace digd::causal {

namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void set_tiers(const table& data, const beliefs& beliefs, const worldview* view, analysis_options& options) {
  std::vector<int> tiers(data.size(), -1);
  bool any = false;
  for (variable v = 0; v < data.size(); ++v) {
    const std::string& name = data[v].name;
    const bool after = name == "success" || name.starts_with("metric.") || is_among(beliefs.outcomes, name);
    if (name.starts_with("label.") || is_among(beliefs.settings, name)) tiers[v] = 0;
    else if (after) tiers[v] = 2;
    any = any || tiers[v] >= 0;
  }
  for (variable v = 0; v < data.size() && any; ++v) {
    if (tiers[v] < 0) tiers[v] = 1;
  }
  if (view != nullptr) {
    for (const worldview_variable& worldview_variable : view->variables) {
      const auto v = data.find(worldview_variable.name);
      if (!v || !worldview_variable.tier) continue;
      if (tiers.empty()) tiers.assign(data.size(), -1);
      tiers[*v] = *worldview_variable.tier;
      any = true;
    }
  }
  if (any) options.structure.known.tiers = tiers;
}

using edges = std::vector<std::pair<variable, variable>>;

// Adds a required edge, or a note if an end is not a column or if the edge would close a cycle with those in `into`.
void require(const table& data, const std::string& from, const std::string& to, edges& into,
             std::vector<std::string>& notes) {
  const auto a = data.find(from), b = data.find(to);
  if (!a || !b || *a == *b) {
    notes.push_back(plain(from) + " -> " + plain(to) + ": not used, because these are not two columns of the table");
    return;
  }
  pdag g(data.size());
  for (const auto& [i, j] : into) g.direct(i, j);
  if (descendants(g, {*b})[*a]) {
    notes.push_back(plain(from) + " -> " + plain(to) +
                    ": not used, because it closes a cycle with edges required before");
    return;
  }
  if (std::find(into.begin(), into.end(), std::pair(*a, *b)) == into.end()) into.emplace_back(*a, *b);
}

}  // namespace

std::vector<worldview_status> apply_beliefs(const table& data, const beliefs& beliefs, analysis_options& options,
                                            std::vector<std::string>& notes) {
  std::vector<worldview_status> out;
  const worldview* chosen = nullptr;
  for (const worldview& w : beliefs.views) {
    worldview_status s;
    s.name = w.name;
    s.refuted = contradiction_of(w, beliefs.experiments);
    s.chosen = chosen == nullptr && s.refuted.empty();
    if (s.chosen) chosen = &w;
    out.push_back(std::move(s));
  }
  set_tiers(data, beliefs, chosen, options);
  knowledge& known = options.structure.known;
  for (const experiment& e : beliefs.experiments) {
    if (e.result == finding_kind::confirmed) require(data, e.from, e.to, options.confirmed, notes);
    const auto a = data.find(e.from), b = data.find(e.to);
    if (e.result == finding_kind::contradicted && a && b) known.forbidden.emplace_back(*a, *b);
  }
  known.required = options.confirmed;
  if (chosen == nullptr) return out;
  for (const worldview_edge& e : chosen->edges) {
    if (e.required) require(data, e.from, e.to, known.required, notes);
  }
  for (const worldview_edge& e : chosen->forbidden) {
    const auto a = data.find(e.from), b = data.find(e.to);
    if (a && b) known.forbidden.emplace_back(*a, *b);
  }
  for (const worldview_variable& v : chosen->variables) {
    if (const auto at = data.find(v.name); at && v.root) options.roots.push_back(*at);
  }
  return out;
}

namespace {

scale scale_of(const worldview& w, const std::string& name) {
  const auto at =
      std::find_if(w.variables.begin(), w.variables.end(), [&](const worldview_variable& v) { return v.name == name; });
  return at == w.variables.end() ? scale::unknown : at->at;
}

}  // namespace

void weigh(const table& data, const analysis& found, const beliefs& beliefs, std::vector<worldview_status>& statuses) {
  const bool has_graph = found.structure.best().size() == data.size();
  for (std::size_t i = 0; i < statuses.size() && i < beliefs.views.size(); ++i) {
    for (const worldview_edge& e : beliefs.views[i].edges) {
      edge_opinion o;
      o.edge = e;
      o.from = scale_of(beliefs.views[i], e.from);
      o.to = scale_of(beliefs.views[i], e.to);
      const auto a = data.find(e.from), b = data.find(e.to);
      o.known = a && b && has_graph;
      if (o.known) {
        o.support = found.structure.adjacent(*a, *b);
        const double ways = found.structure.causes(*a, *b) + found.structure.causes(*b, *a);
        o.forwards = ways > 0 ? found.structure.causes(*a, *b) / ways : 0;
      }
      statuses[i].edges.push_back(std::move(o));
    }
  }
}

}  // namespace digd::causal
