#include "bench/healing/study.h"

#include <atomic>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <thread>

#include "base/quote.h"

namespace digd::bench {

namespace {

constexpr int agent_counts[] = {1, 3, 6, 20, 100};
constexpr std::int64_t array_sizes[] = {1'000, 5'000, 10'000};
constexpr cell case_study{20, 100'000};
constexpr double chances[] = {0, 0.25, 0.5, 1};  // beside the usual one

std::vector<cell> detailed_cells() {
  std::vector<cell> cells;
  for (const int a : agent_counts) cells.push_back({a, 10'000});
  cells.push_back(case_study);
  return cells;
}

std::vector<cell> all_cells() {
  std::vector<cell> cells;
  for (const std::int64_t n : array_sizes) {
    for (const int a : agent_counts) cells.push_back({a, n});
  }
  cells.push_back(case_study);
  return cells;
}

template <class Numbers>
void append_by_rule(std::ostream& to, const char* name, const Numbers& of) {
  to << ",\"" << name << "\":{";
  for (std::size_t i = 0; i < failure_rule_count; ++i)
    to << (i > 0 ? "," : "") << '"' << rule_names[i] << "\":" << of(i);
  to << '}';
}

}  // namespace

std::vector<trial> fitting_runs(std::uint64_t first, std::uint64_t seeds) {
  std::vector<trial> trials;
  for (const cell& where : all_cells()) {
    if (where.agents > 6) continue;
    for (std::uint64_t s = 0; s < seeds; ++s) trials.push_back({.where = where, .arm = "observe", .seed = first + s});
  }
  return trials;
}

std::vector<trial> whole_study(std::uint64_t first, std::uint64_t seeds) {
  std::vector<trial> trials;
  const auto add = [&](const cell& where, const std::string& arm, double follow) {
    for (std::uint64_t s = 0; s < seeds; ++s) trials.push_back({where, arm, follow, first + s});
  };
  const double usual = parameters{}.follow;
  for (const cell& where : all_cells()) {
    for (std::size_t i = 0; i < main_arms; ++i) add(where, arms()[i].name, usual);
  }
  for (const cell& where : detailed_cells()) {
    for (std::size_t i = main_arms; i < arms().size(); ++i) add(where, arms()[i].name, usual);
    for (const double follow : chances) {
      for (const char* arm : {"enforce", "blind", "random", "judge"}) add(where, arm, follow);
    }
  }
  return trials;
}

std::vector<trial> second_round(std::uint64_t first, std::uint64_t seeds) {
  std::vector<trial> trials;
  for (const cell& where : detailed_cells()) {
    for (const arm& a : second_round_arms()) {
      for (std::uint64_t s = 0; s < seeds; ++s) trials.push_back({.where = where, .arm = a.name, .seed = first + s});
    }
  }
  return trials;
}

std::vector<trial_result> run_all(const std::vector<trial>& trials, const parameters& given, unsigned threads,
                                  const std::function<void(std::size_t done)>& progress) {
  std::vector<trial_result> results(trials.size());
  std::atomic<std::size_t> next = 0;
  std::mutex one_at_a_time;
  std::size_t done = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < trials.size(); i = next++) {
      const trial& t = trials[i];
      const arm* treatment = arm_named(t.arm);
      if (treatment == nullptr) throw std::invalid_argument("no arm is called " + t.arm);
      parameters parameters = given;
      parameters.follow = t.follow;
      results[i] = {t, play(t.where, t.seed, *treatment, parameters)};
      const std::lock_guard lock(one_at_a_time);
      progress(++done);
    }
  };
  std::vector<std::jthread> crew;
  for (unsigned i = 0; i < threads; ++i) crew.emplace_back(work);
  crew.clear();
  return results;
}

void write_line(std::ostream& to, const trial_result& result) {
  const outcome& o = result.measured;
  to << "{\"agents\":" << result.trial.where.agents << ",\"integers\":" << result.trial.where.integers
     << ",\"arm\":" << digd::quoted(result.trial.arm) << ",\"follow\":" << result.trial.follow
     << ",\"seed\":" << result.trial.seed << ",\"answered\":" << (o.answered ? "true" : "false")
     << ",\"valid\":" << (o.valid ? "true" : "false") << ",\"missing\":" << o.missing << ",\"repeated\":" << o.repeated
     << ",\"rmse\":" << o.rmse << ",\"computed\":" << o.computed << ",\"known_ms\":" << o.known_ms
     << ",\"found_ms\":" << o.found_ms << ",\"time_ms\":" << o.time_ms << ",\"calls\":" << o.calls
     << ",\"tokens\":" << static_cast<std::int64_t>(o.tokens) << ",\"texts_read\":" << o.texts_read
     << ",\"texts_followed\":" << o.texts_followed << ",\"answers\":" << o.answers
     << ",\"valid_returned\":" << o.valid_returned << ",\"interventions\":" << o.interventions
     << ",\"refused\":" << o.counted.refused;
  append_by_rule(to, "detections", [&](std::size_t i) { return o.counted.detections[i]; });
  append_by_rule(to, "healed", [&](std::size_t i) { return o.counted.healed[i]; });
  append_by_rule(to, "right", [&](std::size_t i) { return o.scored.right[i]; });
  append_by_rule(to, "had", [&](std::size_t i) { return o.scored.had[i] ? "true" : "false"; });
  constexpr const char* ends[] = {"cleared", "recurred", "unresolved"};
  for (std::size_t k = 0; k < 3; ++k) {
    append_by_rule(to, ends[k], [&](std::size_t i) { return o.counted.outcomes[i][k]; });
  }
  to << "}\n";
}

}  // namespace digd::bench
