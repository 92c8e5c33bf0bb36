#include "bench/healing/study.h"

#include <fmt/format.h>

#include <atomic>
#include <iterator>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "base/json_writer.h"

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

// As a stream prints it: with six digits.
std::string short_number(double value) { return fmt::format("{:g}", value); }

// `write` writes the value of a rule.
template <class Write>
void write_by_rule(json_writer& to, std::string_view name, const Write& write) {
  to.key(name).open_object();
  for (std::size_t i = 0; i < failure_rule_count; ++i) write(to.key(rule_names[i]), i);
  to.close_object();
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

void write_line(std::ostream& out, const trial_result& result) {
  const outcome& o = result.measured;
  std::string line;
  json_writer to(line);
  to.open_object().key("agents").integer(result.trial.where.agents);
  to.key("integers").integer(result.trial.where.integers).key("arm").text(result.trial.arm);
  to.key("follow").raw(short_number(result.trial.follow)).key("seed").integer(result.trial.seed);
  to.key("answered").boolean(o.answered).key("valid").boolean(o.valid).key("missing").integer(o.missing);
  to.key("repeated").integer(o.repeated).key("rmse").raw(short_number(o.rmse)).key("computed").integer(o.computed);
  to.key("known_ms").integer(o.known_ms).key("found_ms").integer(o.found_ms).key("time_ms").integer(o.time_ms);
  to.key("calls").integer(o.calls).key("tokens").integer(static_cast<std::int64_t>(o.tokens));
  to.key("texts_read").integer(o.texts_read).key("texts_followed").integer(o.texts_followed);
  to.key("answers").integer(o.answers).key("valid_returned").integer(o.valid_returned);
  to.key("interventions").integer(o.interventions).key("refused").integer(o.counted.refused);
  const auto write_counts = [&](std::string_view name, const auto& count) {
    write_by_rule(to, name, [&](json_writer& value, std::size_t rule) { value.integer(count(rule)); });
  };
  write_counts("detections", [&](std::size_t i) { return o.counted.detections[i]; });
  write_counts("healed", [&](std::size_t i) { return o.counted.healed[i]; });
  write_counts("right", [&](std::size_t i) { return o.scored.right[i]; });
  write_by_rule(to, "had", [&](json_writer& value, std::size_t i) { value.boolean(o.scored.had[i]); });
  constexpr std::string_view ends[] = {"cleared", "recurred", "unresolved"};
  for (std::size_t k = 0; k < std::size(ends); ++k) {
    write_counts(ends[k], [&](std::size_t i) { return o.counted.outcomes[i][k]; });
  }
  to.close_object();
  out << line << '\n';
}

}  // namespace digd::bench
