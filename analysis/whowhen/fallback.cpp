#include "analysis/whowhen/fallback.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "analysis/whowhen/validate.h"

namespace digd::whowhen {

namespace {

constexpr double max_ratio = std::numeric_limits<double>::infinity();  // the constant alone, unless a step is proven
constexpr double ratios[] = {0, 1.25, 1.5, 2, 3, 5, 10, 30, max_ratio};

struct prior {
  std::size_t constant = 0;
  double min_ratio = 0;
};

// The logs by framework, in the order of transfer::frameworks.
std::vector<std::vector<std::size_t>> by_framework(const transfer& t) {
  std::vector<std::vector<std::size_t>> out;
  for (const left_out& f : t.frameworks) {
    out.emplace_back();
    for (std::size_t i = 0; i < t.logs.size(); ++i) {
      if (t.logs[i].subset == f.framework) out.back().push_back(i);
    }
  }
  return out;
}

// The prior that serves the frameworks other than `hidden` best, each left out of training together with `hidden`.
// Of equal ones the first: the ranker alone before any constant.
prior choose(const transfer& t, const std::vector<chief::lesson>& lessons,
             const std::vector<std::vector<std::size_t>>& groups, std::size_t hidden) {
  std::map<std::pair<std::size_t, std::size_t>, double> scores;  // by constant and ratio
  for (std::size_t asked = 0; asked < groups.size(); ++asked) {
    if (asked == hidden) continue;
    const chief::ranker_set rankers =
        train_without(t.logs, lessons, {t.frameworks[hidden].framework, t.frameworks[asked].framework});
    for (std::size_t i : groups[asked]) {
      const answer ranked = answer_of(t.logs[i], rankers);
      for (std::size_t c = 0; c < std::size(constants); ++c) {
        const answer constant = constants[c].text(t.logs[i]);
        for (std::size_t r = 0; r < std::size(ratios); ++r) {
          const answer a = from_prior(ranked, constant, ratios[r]);
          scores[{c, r}] +=
              (hit_agent(t.logs[i], a) + hit_step(t.logs[i], a)) / static_cast<double>(groups[asked].size());
        }
      }
    }
  }
  prior best;
  double max_score = scores[{0, 0}];
  for (const auto& [key, score] : scores) {
    if (score > max_score + 1e-12) max_score = score, best = {key.first, ratios[key.second]};
  }
  return best;
}

}  // namespace

answer from_prior(const answer& ranked, const answer& constant, double min_ratio) {
  if (min_ratio == 0 || ranked.proven || ranked.probabilities.empty() || constant.steps.empty()) return ranked;
  const std::size_t expected = constant.steps.front();
  const auto at = std::find(ranked.steps.begin(), ranked.steps.end(), expected);
  if (at == ranked.steps.end()) return ranked;
  const auto place = at - ranked.steps.begin();
  if (ranked.probabilities.front() >= min_ratio * ranked.probabilities[static_cast<std::size_t>(place)]) return ranked;
  answer out = ranked;
  out.agent = constant.agent;
  std::rotate(out.steps.begin(), out.steps.begin() + place, out.steps.begin() + place + 1);
  std::rotate(out.probabilities.begin(), out.probabilities.begin() + place, out.probabilities.begin() + place + 1);
  return out;
}

std::vector<prior_figure> weigh_prior(const transfer& t) {
  const std::vector<chief::lesson> lessons = lessons_of(t.logs);
  const std::vector<std::vector<std::size_t>> groups = by_framework(t);
  std::vector<prior_figure> out;
  for (std::size_t f = 0; f < groups.size(); ++f) {
    const prior chosen = choose(t, lessons, groups, f);
    prior_figure row{.framework = t.frameworks[f].framework,
                     .constant = constants[chosen.constant].name,
                     .min_ratio = chosen.min_ratio};
    std::vector<const labelled_log*> own;
    std::vector<double> agents, steps, agents_alone, steps_alone;
    for (std::size_t i : groups[f]) {
      const labelled_log& l = t.logs[i];
      const answer a = from_prior(t.answers[i], constants[chosen.constant].text(l), chosen.min_ratio);
      own.push_back(&l);
      agents.push_back(hit_agent(l, a));
      steps.push_back(hit_step(l, a));
      agents_alone.push_back(hit_agent(l, t.answers[i]));
      steps_alone.push_back(hit_step(l, t.answers[i]));
    }
    row.agent = compare_to_constants(own, agents, hit_agent);
    row.step = compare_to_constants(own, steps, hit_step);
    row.agent_change = paired_difference(agents, agents_alone);
    row.step_change = paired_difference(steps, steps_alone);
    out.push_back(std::move(row));
  }
  return out;
}

std::string as_table(const std::vector<prior_figure>& rows) {
  const auto percent = [](const difference& d) {
    return fmt::format("{:+6.1f} [{:+.1f}, {:+.1f}]", 100 * d.mean, 100 * d.low, 100 * d.high);
  };
  std::string out =
      "\nThe ranker starts from a constant, and deviates if its first step is at least `ratio` times as probable.\n"
      "Constant and ratio were chosen on the other frameworks; ratio 0 is the ranker alone\n";
  out += fmt::format("{:<22}{:<26}{:>6}  {:<6}{:>6}  {:<26}{}\n", "left out", "starts from", "ratio", "", "right",
                     "to the best constant", "to the ranker alone");
  for (const prior_figure& r : rows) {
    out += fmt::format("{:<22}{:<26}{:6g}  {:<6}{:6.1f}  {:<26}{}\n", r.framework, r.constant, r.min_ratio, "agent",
                       100 * r.agent.hits, percent(r.agent.gain), percent(r.agent_change));
    out += fmt::format("{:<54}  {:<6}{:6.1f}  {:<26}{}\n", "", "step", 100 * r.step.hits, percent(r.step.gain),
                       percent(r.step_change));
  }
  return out;
}

}  // namespace digd::whowhen
