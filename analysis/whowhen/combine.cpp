#include "analysis/whowhen/combine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace digd::whowhen {

namespace {

constexpr double weights[] = {0, 0.25, 0.5, 1, 1.5, 2, 3, 4};

// The probabilities of `ranked.steps` after the judge's step has gained `weight`.
std::vector<double> reweighed(const answer& ranked, const answer& judged, double weight) {
  std::vector<double> p = ranked.probabilities;
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!judged.steps.empty() && ranked.steps[i] == judged.steps.front()) p[i] *= std::exp(weight);
    sum += p[i];
  }
  for (double& x : p) x /= sum;
  return p;
}

double likelihood(const labelled_log& l, const answer& ranked, const std::vector<double>& p) {
  const auto at = std::find(ranked.steps.begin(), ranked.steps.end(), l.step) - ranked.steps.begin();
  return static_cast<std::size_t>(at) < p.size() ? std::log(p[static_cast<std::size_t>(at)] + 1e-12) : 0;
}

// As in chief::attribute: the most suspect agent's most suspect step, or in an unknown framework the most suspect step.
answer ranked_by(const labelled_log& l, const answer& ranked, const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&p](std::size_t a, std::size_t b) { return p[a] > p[b]; });
  const auto agent_of = [&](std::size_t i) { return l.log.steps[ranked.steps[i]].agent; };
  std::map<std::string, double> agents;
  for (std::size_t i = 0; i < p.size(); ++i) agents[agent_of(i)] += p[i];
  std::string agent = agent_of(order.front());
  if (l.log.framework != chief::known_framework::none) {
    for (const auto& [name, sum] : agents) {
      if (sum > agents[agent]) agent = name;
    }
  }
  const auto lead = std::find_if(order.begin(), order.end(), [&](std::size_t i) { return agent_of(i) == agent; });
  std::rotate(order.begin(), lead, lead + 1);
  answer out{.agent = agent};
  for (std::size_t i : order) {
    out.steps.push_back(ranked.steps[i]);
    out.probabilities.push_back(p[i]);
  }
  return out;
}

}  // namespace

combined weigh_judge(const std::vector<const labelled_log*>& logs, const std::vector<answer>& ranked,
                     const std::vector<answer>& judged) {
  combined out;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    double best = 0, best_likelihood = -1e300;
    for (double weight : weights) {
      double sum = 0;
      for (std::size_t k = 0; k < logs.size(); ++k) {
        if (logs[k]->log.question == logs[i]->log.question || ranked[k].proven) continue;
        sum += likelihood(*logs[k], ranked[k], reweighed(ranked[k], judged[k], weight));
      }
      if (sum > best_likelihood + 1e-9) best_likelihood = sum, best = weight;
    }
    const bool unchanged = best == 0 || ranked[i].proven || ranked[i].failed || judged[i].steps.empty();
    out.weights.push_back(best);
    out.answers.push_back(unchanged ? ranked[i]
                                    : ranked_by(*logs[i], ranked[i], reweighed(ranked[i], judged[i], best)));
    out.answers.back().seconds += judged[i].seconds;
    out.answers.back().tokens += judged[i].tokens;
    out.answers.back().cost += judged[i].cost;
  }
  return out;
}

}  // namespace digd::whowhen
