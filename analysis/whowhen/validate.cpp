#include "analysis/whowhen/validate.h"

#include <chrono>
#include <cmath>
#include <functional>
#include <map>

namespace digd::whowhen {

namespace {

using chief::lesson;
using chief::training;

constexpr double penalties[] = {0.5, 1.0, 2.0, 3.0, 5.0, 8.0};
constexpr std::size_t inner_folds = 5;

// Log-likelihood of the truth under a ranker; 0 if the case has no truth.
double likelihood(const std::vector<double>& weights, const chief::choice& c) {
  if (c.truth < 0) return 0;
  return std::log(chief::probabilities(weights, c.rows)[static_cast<std::size_t>(c.truth)] + 1e-12);
}

// The penalty of one of the three rankers that gives held-out truths the highest likelihood.
double best_penalty(const std::vector<const lesson*>& lessons, const std::vector<std::size_t>& fold,
                    double training::*field,
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
      const chief::ranker_set rankers = chief::train(rest, training);
      for (std::size_t i = 0; i < lessons.size(); ++i) {
        if (fold[i] == f) sum += judge(rankers, *lessons[i]);
      }
    }
    if (sum > best_likelihood) best_likelihood = sum, best = penalty;
  }
  return best;
}

training choose(const std::vector<const lesson*>& lessons, const std::vector<std::size_t>& fold) {
  std::vector<const lesson*> kinds[2];
  std::vector<std::size_t> folds[2];
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    kinds[lessons[i]->orchestrated].push_back(lessons[i]);
    folds[lessons[i]->orchestrated].push_back(fold[i]);
  }
  training penalties_chosen;
  penalties_chosen.chat =
      best_penalty(kinds[0], folds[0], &training::chat,
                   [](const chief::ranker_set& r, const lesson& l) { return likelihood(r.chat, l.steps); });
  penalties_chosen.orchestrated =
      best_penalty(kinds[1], folds[1], &training::orchestrated,
                   [](const chief::ranker_set& r, const lesson& l) { return likelihood(r.orchestrated, l.steps); });
  penalties_chosen.agents =
      best_penalty(kinds[1], folds[1], &training::agents,
                   [](const chief::ranker_set& r, const lesson& l) { return likelihood(r.agents, l.agents); });
  return penalties_chosen;
}

}  // namespace

std::vector<lesson> lessons_of(const std::vector<labelled_log>& logs) {
  std::vector<lesson> lessons;
  for (const labelled_log& l : logs) lessons.push_back(chief::lesson_of({&l.log, l.agent, l.step}));
  return lessons;
}

answer answer_of(const labelled_log& l, const chief::ranker_set& rankers) {
  const auto from = std::chrono::steady_clock::now();
  const chief::attribution a = chief::attribute(l.log, rankers);
  answer out;
  for (const chief::suspect& s : a.ranking) out.steps.push_back(s.step);
  if (a.ranking.empty()) out.failed = true;
  else out.agent = a.ranking.front().agent;
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
    const training penalties_chosen = nested ? choose(rest, fold) : training{};
    if (nested) out.chosen.push_back(penalties_chosen);
    const chief::ranker_set rankers = chief::train(rest, penalties_chosen);
    for (std::size_t i : own) out.answers[i] = answer_of(logs[i], rankers);
  }
  return out;
}

}  // namespace digd::whowhen
