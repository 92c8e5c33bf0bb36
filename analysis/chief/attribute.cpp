#include "analysis/chief/attribute.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/chief/text.h"
#include "analysis/chief/unsourced.h"

namespace digd::chief {

namespace {

struct scored {
  candidate_rows rows;
  const std::vector<feature_info>* features;
  const std::vector<double>* weights;
  std::vector<double> p, average;                          // by row; by feature
  std::map<std::string, std::vector<evidence>> of_agents;  // orchestrated runs: evidence about an agent as a whole
};

std::vector<double> average_of(const std::vector<std::vector<double>>& rows) {
  if (rows.empty()) return {};
  std::vector<double> average(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t k = 0; k < row.size(); ++k) average[k] += row[k];
  }
  for (double& sum : average) sum /= static_cast<double>(rows.size());
  return average;
}

// The features that set a row apart from the average row. Only features that are present count as evidence.
std::vector<evidence> evidence_of(const std::vector<double>& row, const std::vector<double>& average,
                                  const std::vector<double>& weights, const std::vector<feature_info>& features,
                                  const std::vector<std::size_t>& steps) {
  constexpr double min_weight = 0.1;
  std::vector<evidence> found;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const double weight = weights[k] * (row[k] - average[k]);
    if (weight > min_weight && row[k] > 0)
      found.push_back(
          {features[k].by, std::string(features[k].says), steps, features[k].means == bearing::fault, weight});
  }
  return found;
}

std::map<std::string, double> by_agent(const flat_log& log, const scored& s) {
  std::map<std::string, double> sums;
  for (std::size_t i = 0; i < s.rows.steps.size(); ++i) sums[log.steps[s.rows.steps[i]].agent] += s.p[i];
  return sums;
}

// The probabilities of the steps. All steps compete with each other, except in Magentic-One: there the agents compete
// first, and then the steps of each agent.
scored score(const flat_log& log, const attribution& a, const ranker_set& rankers,
             std::map<std::string, double>& agents) {
  scored s;
  switch (log.framework) {
    case known_framework::captain_agent: s = {rows_of_chat(log), &chat_features(), &rankers.chat, {}, {}, {}}; break;
    case known_framework::magentic_one:
      s = {rows_of_orchestrated(log), &orchestrated_features(), &rankers.orchestrated, {}, {}, {}};
      break;
    case known_framework::none:
      s = {rows_of_any(log, a.graph, a.back), &generic_features(), &rankers.generic, {}, {}, {}};
      break;
  }
  s.average = average_of(s.rows.rows);
  if (log.framework != known_framework::magentic_one) {
    s.p = probabilities(*s.weights, s.rows.rows);
    agents = by_agent(log, s);
    return s;
  }
  const agent_rows candidates = rows_of_agents(log);
  const std::vector<double> p = probabilities(rankers.agents, candidates.rows);
  const std::vector<double> average = average_of(candidates.rows);
  std::map<std::string, std::vector<std::size_t>> rows_of;  // by agent
  for (std::size_t i = 0; i < s.rows.steps.size(); ++i) rows_of[log.steps[s.rows.steps[i]].agent].push_back(i);
  s.p.resize(s.rows.steps.size());
  for (std::size_t k = 0; k < candidates.agents.size(); ++k) {
    const std::string& agent = candidates.agents[k];
    agents[agent] = p[k];
    s.of_agents[agent] = evidence_of(candidates.rows[k], average, rankers.agents, agent_features(), {});
    const std::vector<std::size_t>& own = rows_of[agent];
    std::vector<std::vector<double>> rows;
    rows.reserve(own.size());
    for (const std::size_t i : own) rows.push_back(s.rows.rows[i]);
    const std::vector<double> within = probabilities(*s.weights, rows);
    for (std::size_t i = 0; i < own.size(); ++i) s.p[own[i]] = p[k] * within[i];
  }
  return s;
}

// The parts of the JSON that decide nothing in this log. Links between steps, and backtracking, decide only through
// evaluators with a weight (generic_features.inc).
std::vector<std::string_view> diagnostic_parts(const flat_log& log, const ranker_set& rankers) {
  const auto decides = [&](std::string_view evaluator) {
    const auto& features = generic_features();
    for (std::size_t k = 0; log.framework == known_framework::none && k < features.size(); ++k) {
      if (features[k].name == evaluator) return rankers.generic[k] != 0;
    }
    return false;
  };
  std::vector<std::string_view> out{"edges.subtasks", "edges.agents", "patterns"};
  if (!decides("used_later")) out.push_back("edges.steps");
  if (!decides("discrepant")) out.insert(out.end(), {"subtasks", "backtracking"});  // subtasks serve backtracking alone
  return out;
}

// Fills the chain with the evidence about a step and its agent, strongest first, and the stage with the most evidence.
void explain(const scored& s, std::size_t at, suspect& into) {
  constexpr std::size_t max_chain = 5;
  into.chain = evidence_of(s.rows.rows[at], s.average, *s.weights, *s.features, {into.step});
  if (const auto own = s.of_agents.find(into.agent); own != s.of_agents.end()) {
    into.chain.insert(into.chain.end(), own->second.begin(), own->second.end());
  }
  std::array<double, 5> stages{};
  for (const evidence& e : into.chain) stages[static_cast<std::size_t>(e.by)] += e.weight;
  const auto most = std::max_element(stages.begin(), stages.end());
  into.decided_by = *most > 0 ? static_cast<stage>(most - stages.begin()) : stage::order;
  std::stable_sort(into.chain.begin(), into.chain.end(), [](auto& a, auto& b) { return a.weight > b.weight; });
  if (into.chain.size() > max_chain) into.chain.resize(max_chain);
}

// By step: the edges to steps that use its values, in the order of those steps.
std::vector<std::vector<const step_edge*>> edges_to_users(const flat_log& log, const hierarchy& graph) {
  std::vector<std::vector<const step_edge*>> edges(log.steps.size());
  for (const step_edge& edge : graph.step_edges) {
    if (!edge.carried.empty()) edges[edge.from].push_back(&edge);
  }
  return edges;
}

void add_unsourced(const std::vector<std::string>& numbers, suspect& s) {
  if (numbers.empty()) return;
  std::string listed;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    listed += (i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ") + numbers[i];
  s.chain.push_back(
      {stage::data_flow, "states " + listed + ", which neither the task nor a step before gave", {s.step}, true});
}

void add_context(const attribution& a, const std::vector<const step_edge*>& to_users, suspect& s) {
  const auto k = a.graph.subtask_of[s.step];
  if (k && a.back.verdicts[*k].fails) {
    s.chain.push_back(
        {stage::oracle, "subtask " + std::to_string(*k) + ": " + a.back.verdicts[*k].unmet.front(), {s.step}});
  }
  std::vector<std::size_t> users;
  std::string carried;
  for (const step_edge* edge : to_users) {
    for (const std::string& value : edge->carried) {
      if (value.size() > carried.size()) carried = value;  // the longest value is the most specific
    }
    if (users.size() < 6) users.push_back(edge->to);
  }
  if (!users.empty()) s.chain.push_back({stage::data_flow, "its values (" + carried + " …) are used later", users});
}

// Moves proven steps that nothing excuses to the front, earliest first, and excused steps to the end.
void promote(const flat_log& log, attribution& a) {
  std::vector<suspect*> of_step(log.steps.size());
  for (suspect& s : a.ranking) of_step[s.step] = &s;
  std::vector<bool> corrected(log.steps.size());
  for (const finding& f : a.findings) {
    corrected[f.step] = corrected[f.step] || f.excused;
    suspect* const at = of_step[f.step];
    if (at == nullptr) continue;
    if (f.excused) {
      at->chain.push_back({stage::deviation, f.says + "; corrected at step " + std::to_string(f.excused_by), f.from});
      continue;
    }
    if (!at->proven) at->decided_by = f.by;
    at->proven = true;
    at->chain.insert(at->chain.begin(), {f.by, f.says, f.from, true});
  }
  const auto first =
      std::stable_partition(a.ranking.begin(), a.ranking.end(), [](const suspect& s) { return s.proven; });
  std::stable_sort(a.ranking.begin(), first, [](const suspect& x, const suspect& y) { return x.step < y.step; });
  // A corrected step bears no responsibility.
  std::stable_partition(first, a.ranking.end(), [&](const suspect& s) { return !corrected[s.step]; });
  if (!a.ranking.empty() && a.ranking.front().proven) {
    const std::string& proven_agent = log.steps[a.ranking.front().step].agent;
    std::stable_partition(a.agents.begin(), a.agents.end(),
                          [&](const auto& agent) { return agent.first == proven_agent; });
  }
}

}  // namespace

attribution attribute(const flat_log& log, const ranker_set& rankers) {
  attribution a;
  a.graph = build_hierarchy(log);
  a.findings = screen(log, a.graph);
  a.calibrated = rankers.calibrated;
  a.diagnostic = diagnostic_parts(log, rankers);
  a.back = backtrack(log, a.graph, a.findings);
  std::map<std::string, double> agents;
  const scored s = score(log, a, rankers, agents);
  const auto to_users = edges_to_users(log, a.graph);
  const auto unsourced = unsourced_numbers(log);
  a.agents.assign(agents.begin(), agents.end());
  std::stable_sort(a.agents.begin(), a.agents.end(), [](auto& x, auto& y) { return x.second > y.second; });
  for (std::size_t i = 0; i < s.rows.steps.size(); ++i) {
    suspect suspect;
    suspect.step = s.rows.steps[i];
    suspect.agent = log.steps[suspect.step].agent;
    suspect.probability = s.p[i];
    suspect.candidate = std::binary_search(a.back.steps.begin(), a.back.steps.end(), suspect.step);
    explain(s, i, suspect);
    add_unsourced(unsourced[suspect.step], suspect);
    add_context(a, to_users[suspect.step], suspect);
    a.ranking.push_back(std::move(suspect));
  }
  std::stable_sort(a.ranking.begin(), a.ranking.end(), [](auto& x, auto& y) { return x.probability > y.probability; });
  promote(log, a);
  // An answer names an agent and a step of that agent. In an unknown framework the sums of agents depend on how many
  // steps its logs have for each, so the step decides.
  if (log.framework == known_framework::none) return a;
  const auto lead = std::find_if(a.ranking.begin(), a.ranking.end(), [&](const suspect& x) {
    return !a.agents.empty() && x.agent == a.agents.front().first;
  });
  if (lead != a.ranking.end()) a.lead = static_cast<std::size_t>(lead - a.ranking.begin());
  return a;
}

}  // namespace digd::chief
