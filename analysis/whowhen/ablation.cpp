#include "analysis/whowhen/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "analysis/whowhen/validate.h"

namespace digd::whowhen {

namespace {

constexpr std::size_t question_folds = 10;
constexpr std::array stages{chief::stage::oracle, chief::stage::local, chief::stage::planning_control,
                            chief::stage::data_flow, chief::stage::deviation};

struct held_out {
  std::vector<std::size_t> first;  // by case, the most probable candidate
  double likelihood = 0;           // of the true candidates, logarithmic
};

// A column of zeros gets the weight 0 from the ridge penalty, so zeros leave an evaluator out.
std::vector<ablation_case> without(std::vector<ablation_case> cases, const std::vector<std::size_t>& evaluators) {
  for (ablation_case& c : cases) {
    for (std::vector<double>& row : c.choice.rows) {
      for (std::size_t k : evaluators) row[k] = 0;
    }
  }
  return cases;
}

std::vector<chief::choice> choices_outside(const std::vector<ablation_case>& cases, std::size_t fold) {
  std::vector<chief::choice> out;
  for (const ablation_case& c : cases) {
    if (c.fold != fold) out.push_back(c.choice);
  }
  return out;
}

held_out cross_validate(const std::vector<ablation_case>& cases, const std::vector<chief::leaning>& leanings,
                        double penalty) {
  held_out out;
  out.first.resize(cases.size());
  std::set<std::size_t> folds;
  for (const ablation_case& c : cases) folds.insert(c.fold);
  for (std::size_t fold : folds) {
    const std::vector<double> weights = chief::fit(choices_outside(cases, fold), leanings, penalty);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (cases[i].fold != fold) continue;
      const std::vector<double> p = chief::probabilities(weights, cases[i].choice.rows);
      out.first[i] = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
      out.likelihood += std::log(p[static_cast<std::size_t>(cases[i].choice.truth)] + 1e-12);
    }
  }
  return out;
}

std::size_t right(const std::vector<ablation_case>& cases, const held_out& answers) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < cases.size(); ++i)
    n += answers.first[i] == static_cast<std::size_t>(cases[i].choice.truth);
  return n;
}

}  // namespace

ablation ablate(const std::string& list, const std::vector<ablation_case>& given,
                const std::vector<chief::feature_info>& features, double penalty) {
  std::vector<ablation_case> cases;
  for (const ablation_case& c : given) {
    if (c.choice.truth >= 0) cases.push_back(c);
  }
  std::vector<chief::leaning> leanings;
  leanings.reserve(features.size());
  for (const chief::feature_info& f : features) leanings.push_back(f.weighs);
  std::vector<chief::choice> choices;
  choices.reserve(cases.size());
  for (const ablation_case& c : cases) choices.push_back(c.choice);
  const std::vector<double> weights = chief::fit(choices, leanings, penalty);
  const held_out with = cross_validate(cases, leanings, penalty);
  ablation out{.list = list, .cases = cases.size(), .right = right(cases, with), .rows = {}};
  const auto add = [&](const std::string& name, chief::stage stage, const std::vector<std::size_t>& evaluators) {
    const held_out rest = cross_validate(without(cases, evaluators), leanings, penalty);
    ablated row{.name = name, .stage = std::string(to_string(stage)), .right = right(cases, rest)};
    for (std::size_t k : evaluators) row.weight += evaluators.size() == 1 ? weights[k] : std::abs(weights[k]);
    for (std::size_t i = 0; i < cases.size(); ++i) row.changed += rest.first[i] != with.first[i];
    row.lost = with.likelihood - rest.likelihood;
    out.rows.push_back(std::move(row));
  };
  for (std::size_t k = 0; k < features.size(); ++k) add(std::string(features[k].name), features[k].by, {k});
  for (const chief::stage stage : stages) {
    std::vector<std::size_t> own;
    for (std::size_t k = 0; k < features.size(); ++k) {
      if (features[k].by == stage) own.push_back(k);
    }
    if (own.size() > 1) add("(all)", stage, own);
  }
  return out;
}

std::vector<ablation> ablate_known(const std::vector<labelled_log>& logs) {
  const std::vector<chief::lesson> lessons = lessons_of(logs);
  std::map<std::string, std::size_t> questions;
  std::vector<ablation_case> chat, orchestrated, agents;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const std::size_t fold = questions.try_emplace(logs[i].log.question, questions.size()).first->second;
    if (lessons[i].framework == chief::known_framework::captain_agent)
      chat.push_back({lessons[i].steps, fold % question_folds});
    if (lessons[i].framework != chief::known_framework::magentic_one) continue;
    orchestrated.push_back({lessons[i].steps, fold % question_folds});
    agents.push_back({lessons[i].agents, fold % question_folds});
  }
  const chief::training usual;
  return {ablate("chat", chat, chief::chat_features(), usual.chat),
          ablate("orchestrated", orchestrated, chief::orchestrated_features(), usual.orchestrated),
          ablate("agents", agents, chief::agent_features(), usual.agents)};
}

ablation ablate_generic(const std::vector<labelled_log>& logs) {
  const std::vector<chief::lesson> lessons = lessons_of(logs);
  std::map<std::string, std::size_t> frameworks;
  std::vector<ablation_case> cases;
  for (std::size_t i = 0; i < logs.size(); ++i)
    cases.push_back({lessons[i].generic, frameworks.try_emplace(logs[i].subset, frameworks.size()).first->second});
  return ablate("generic", cases, chief::generic_features(), chief::training{}.generic);
}

std::string as_table(const std::vector<ablation>& lists) {
  std::string out;
  for (const ablation& a : lists) {
    out += fmt::format("{}: {} of {} held-out cases are right with all evaluators. Without each of them in turn:\n",
                       a.list, a.right, a.cases);
    out += fmt::format("  {:<22}{:<18}{:>8}{:>8}{:>9}{:>17}\n", "evaluator", "stage", "weight", "right", "changed",
                       "likelihood lost");
    for (const ablated& r : a.rows) {
      out +=
          fmt::format("  {:<22}{:<18}{:8.3f}{:8}{:9}{:17.2f}\n", r.name, r.stage, r.weight, r.right, r.changed, r.lost);
    }
  }
  return out;
}

}  // namespace digd::whowhen
