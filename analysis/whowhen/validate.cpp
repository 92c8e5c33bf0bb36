#include "analysis/whowhen/validate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>

namespace digd::whowhen {

namespace {

using chief::lesson;
using chief::training;

constexpr double penalties[] = {0.5, 1.0, 2.0, 3.0, 5.0, 8.0};
constexpr double temperatures[] = {0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0};
constexpr std::size_t inner_folds = 5;

// Log-likelihood of the truth under a ranker; 0 if the case has no truth.
double likelihood(const std::vector<double>& weights, const chief::choice& c) {
  if (c.truth < 0) return 0;
  return std::log(chief::probabilities(weights, c.rows)[static_cast<std::size_t>(c.truth)] + 1e-12);
}

// The penalty of the ranker of `field` that gives held-out truths the highest likelihood.
double best_penalty(const std::vector<const lesson*>& lessons, const std::vector<std::size_t>& fold,
                    double training::*field, unsigned kinds,
                    const std::function<double(const chief::ranker_set&, const lesson&)>& judge) {
  double best = training{}.*field, best_likelihood = -1e300;
  for (double penalty : penalties) {
    training training;
    training.*field = penalty;
    double sum = 0;
    for (std::size_t f = 0; f < inner_folds; ++f) {
      std::vector<const lesson*> rest;
      for (std::size_t i = 0; i < lessons.size(); ++i) {
        if (fold[i] != f) rest.push_back(lessons[i]);
      }
      if (rest.size() == lessons.size()) continue;
      const chief::ranker_set rankers = chief::train(rest, training, kinds);
      for (std::size_t i = 0; i < lessons.size(); ++i) {
        if (fold[i] == f) sum += judge(rankers, *lessons[i]);
      }
    }
    if (sum > best_likelihood) best_likelihood = sum, best = penalty;
  }
  return best;
}

// The temperature that gives held-out truths the highest likelihood (Guo et al. 2017, section 4.2).
double best_temperature(const std::vector<const lesson*>& lessons, const std::vector<std::size_t>& fold,
                        const training& penalties_chosen, unsigned kinds,
                        std::vector<double> chief::ranker_set::*weights, chief::choice lesson::*cases) {
  std::vector<double> sums(std::size(temperatures), 0.0);
  for (std::size_t f = 0; f < inner_folds; ++f) {
    std::vector<const lesson*> rest;
    for (std::size_t i = 0; i < lessons.size(); ++i) {
      if (fold[i] != f) rest.push_back(lessons[i]);
    }
    if (rest.size() == lessons.size()) continue;
    const chief::ranker_set rankers = chief::train(rest, penalties_chosen, kinds);
    for (std::size_t t = 0; t < sums.size(); ++t) {
      std::vector<double> cooled = rankers.*weights;
      for (double& w : cooled) w /= temperatures[t];
      for (std::size_t i = 0; i < lessons.size(); ++i) {
        if (fold[i] == f) sums[t] += likelihood(cooled, lessons[i]->*cases);
      }
    }
  }
  return temperatures[std::max_element(sums.begin(), sums.end()) - sums.begin()];
}

struct folded {
  std::vector<const lesson*> lessons;
  std::vector<std::size_t> fold;
};

folded of_framework(const folded& whole, chief::known_framework f) {
  folded out;
  for (std::size_t i = 0; i < whole.lessons.size(); ++i) {
    if (whole.lessons[i]->framework != f) continue;
    out.lessons.push_back(whole.lessons[i]);
    out.fold.push_back(whole.fold[i]);
  }
  return out;
}

training choose_penalties(const folded& chat, const folded& planned) {
  training out;
  out.chat = best_penalty(chat.lessons, chat.fold, &training::chat, chief::trains_known,
                          [](const chief::ranker_set& r, const lesson& l) { return likelihood(r.chat, l.steps); });
  out.orchestrated =
      best_penalty(planned.lessons, planned.fold, &training::orchestrated, chief::trains_known,
                   [](const chief::ranker_set& r, const lesson& l) { return likelihood(r.orchestrated, l.steps); });
  out.agents = best_penalty(planned.lessons, planned.fold, &training::agents, chief::trains_known,
                            [](const chief::ranker_set& r, const lesson& l) { return likelihood(r.agents, l.agents); });
  return out;
}

}  // namespace

training calibrate(const std::vector<const lesson*>& lessons, const std::vector<std::size_t>& fold, bool nested) {
  const folded whole{lessons, fold};
  const folded chat = of_framework(whole, chief::known_framework::captain_agent),
               planned = of_framework(whole, chief::known_framework::magentic_one);
  const training penalties_chosen = nested ? choose_penalties(chat, planned) : training{};
  training out = penalties_chosen;
  out.chat_temperature = best_temperature(chat.lessons, chat.fold, penalties_chosen, chief::trains_known,
                                          &chief::ranker_set::chat, &lesson::steps);
  out.orchestrated_temperature = best_temperature(planned.lessons, planned.fold, penalties_chosen, chief::trains_known,
                                                  &chief::ranker_set::orchestrated, &lesson::steps);
  out.agents_temperature = best_temperature(planned.lessons, planned.fold, penalties_chosen, chief::trains_known,
                                            &chief::ranker_set::agents, &lesson::agents);
  return out;
}

training calibrate_generic(const std::vector<const lesson*>& lessons, const std::vector<std::size_t>& framework) {
  training out;
  out.generic =
      best_penalty(lessons, framework, &training::generic, chief::trains_generic,
                   [](const chief::ranker_set& r, const lesson& l) { return likelihood(r.generic, l.generic); });
  out.generic_temperature =
      best_temperature(lessons, framework, out, chief::trains_generic, &chief::ranker_set::generic, &lesson::generic);
  return out;
}

std::vector<lesson> lessons_of(const std::vector<labelled_log>& logs) {
  std::vector<lesson> lessons;
  lessons.reserve(logs.size());
  for (const labelled_log& l : logs) lessons.push_back(chief::lesson_of({&l.log, l.agent, l.step}));
  return lessons;
}

answer answer_of(const labelled_log& l, const chief::ranker_set& rankers) {
  const auto from = std::chrono::steady_clock::now();
  const chief::attribution a = chief::attribute(l.log, rankers);
  answer out;
  for (std::size_t i = 0; i < a.ranking.size(); ++i) {
    // The answer first, then the others by probability.
    const chief::suspect& s = a.ranking[i == 0 ? a.lead : i <= a.lead ? i - 1 : i];
    out.steps.push_back(s.step);
    out.probabilities.push_back(s.probability);
  }
  out.proven = !a.ranking.empty() && a.ranking.front().proven;
  if (a.ranking.empty()) out.failed = true;
  else out.agent = a.ranking[a.lead].agent;
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  return out;
}

validated cross_validate(const std::vector<labelled_log>& logs, bool nested) {
  const std::vector<lesson> lessons = lessons_of(logs);
  std::map<std::string, std::vector<std::size_t>> questions;
  for (std::size_t i = 0; i < logs.size(); ++i) questions[logs[i].log.question].push_back(i);
  validated out;
  out.answers.resize(logs.size());
  for (const auto& [question, own] : questions) {
    std::vector<const lesson*> rest;
    std::vector<std::size_t> fold;
    std::size_t number = 0;
    for (const auto& [other, theirs] : questions) {
      if (other == question) continue;
      for (std::size_t i : theirs) rest.push_back(&lessons[i]), fold.push_back(number % inner_folds);
      ++number;
    }
    const training chosen = calibrate(rest, fold, nested);
    out.chosen.push_back(chosen);
    const chief::ranker_set rankers = chief::train(rest, chosen);
    for (std::size_t i : own) out.answers[i] = answer_of(logs[i], rankers);
  }
  return out;
}

}  // namespace digd::whowhen
