#include "analysis/chief/rankers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace digd::chief {

namespace {

struct named_weight {
  std::string_view table, name;
  double value;
};

constexpr named_weight committed[] = {
#include "analysis/chief/weights.inc"
    {"", "", 0.0},
};

std::vector<double> weights_of(std::string_view table, const std::vector<feature_info>& features) {
  std::vector<double> weights(features.size(), 0.0);
  for (const named_weight& w : committed) {
    if (w.table != table) continue;
    for (std::size_t k = 0; k < features.size(); ++k) {
      if (features[k].name == w.name) weights[k] = w.value;
    }
  }
  return weights;
}

std::vector<leaning> leanings_of(const std::vector<feature_info>& features) {
  std::vector<leaning> leanings;
  leanings.reserve(features.size());
  for (const feature_info& f : features) leanings.push_back(f.weighs);
  return leanings;
}

std::ptrdiff_t index_of(const std::vector<std::size_t>& steps, std::size_t step) {
  const auto at = std::find(steps.begin(), steps.end(), step);
  return at == steps.end() ? -1 : at - steps.begin();
}

}  // namespace

lesson lesson_of(const example& e) {
  lesson l;
  l.framework = e.log->framework;
  candidate_rows any = rows_of_any(*e.log);
  l.generic.truth = index_of(any.steps, e.step);
  l.generic.rows = std::move(any.rows);
  if (l.framework == known_framework::captain_agent) {
    candidate_rows rows = rows_of_chat(*e.log);
    l.steps.truth = index_of(rows.steps, e.step);
    l.steps.rows = std::move(rows.rows);
  }
  if (l.framework != known_framework::magentic_one) return l;
  const candidate_rows rows = rows_of_orchestrated(*e.log);
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < rows.steps.size(); ++i) {
    if (e.log->steps[rows.steps[i]].agent != e.agent) continue;
    own.push_back(rows.steps[i]);
    l.steps.rows.push_back(rows.rows[i]);
  }
  l.steps.truth = index_of(own, e.step);
  agent_rows agents = rows_of_agents(*e.log);
  const auto at = std::find(agents.agents.begin(), agents.agents.end(), e.agent);
  l.agents.truth = at == agents.agents.end() ? -1 : at - agents.agents.begin();
  l.agents.rows = std::move(agents.rows);
  return l;
}

ranker_set train(const std::vector<const lesson*>& lessons, const training& training, unsigned kinds) {
  std::vector<choice> chat, orchestrated, agents, generic;
  for (const lesson* l : lessons) {
    if (l->framework == known_framework::captain_agent) chat.push_back(l->steps);
    if (l->framework == known_framework::magentic_one) {
      orchestrated.push_back(l->steps);
      agents.push_back(l->agents);
    }
    generic.push_back(l->generic);
  }
  const auto fitted = [&](unsigned kind, const std::vector<choice>& cases, const std::vector<feature_info>& features,
                          double penalty, double temperature) {
    if ((kinds & kind) == 0) return std::vector<double>(features.size(), 0.0);
    std::vector<double> weights = fit(cases, leanings_of(features), penalty);
    for (double& w : weights) w /= temperature;
    return weights;
  };
  return {fitted(trains_known, chat, chat_features(), training.chat, training.chat_temperature),
          fitted(trains_known, orchestrated, orchestrated_features(), training.orchestrated,
                 training.orchestrated_temperature),
          fitted(trains_known, agents, agent_features(), training.agents, training.agents_temperature),
          fitted(trains_generic, generic, generic_features(), training.generic, training.generic_temperature)};
}

const ranker_set& committed_rankers() {
  static const ranker_set set{weights_of("chat", chat_features()), weights_of("orchestrated", orchestrated_features()),
                              weights_of("agents", agent_features()), weights_of("generic", generic_features()), true};
  return set;
}

std::string weights_source(const ranker_set& set, const std::vector<std::string>& provenance) {
  std::string out = "// {table, feature, weight}. Written by `digctl chief-train`; do not edit.\n";
  for (const std::string& line : provenance) out += "// " + line + "\n";
  const auto add = [&out](std::string_view table, const std::vector<feature_info>& features,
                          const std::vector<double>& w) {
    for (std::size_t k = 0; k < features.size(); ++k) {
      out += fmt::format("{{\"{}\", \"{}\", {:.6f}}},\n", table, features[k].name, w[k]);
    }
  };
  add("chat", chat_features(), set.chat);
  add("orchestrated", orchestrated_features(), set.orchestrated);
  add("agents", agent_features(), set.agents);
  add("generic", generic_features(), set.generic);
  return out;
}

}  // namespace digd::chief
