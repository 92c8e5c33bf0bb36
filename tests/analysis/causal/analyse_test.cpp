// The analysis of simulated tables: what it reports, and what it withholds.
#include <catch2/catch.hpp>

#include <cmath>

#include "analysis/causal/analyse.h"
#include "analysis/causal/random.h"
#include "analysis/causal/report.h"

using namespace digd::causal;

namespace {

double normal(digd::splitmix_stream& chance) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += chance.uniform();
  return sum;
}

// waits → success; setting → waits; the others are noise. `effect` 0: nothing causes the outcome.
table simulated(std::size_t n, double effect, std::uint64_t seed) {
  digd::splitmix_stream chance(seed, 9);
  std::vector<double> waits, noise, setting, after;
  std::vector<int> success;
  for (std::size_t i = 0; i < n; ++i) {
    setting.push_back(normal(chance));
    waits.push_back(setting.back() + normal(chance));
    success.push_back(chance.uniform() < 1 / (1 + std::exp(effect * waits.back())));
    after.push_back((effect > 0 ? 3.0 * success.back() : 0) + normal(chance));
    noise.push_back(normal(chance));
  }
  table t;
  t.add_continuous("setting", setting);
  t.add_continuous("waits", waits);
  t.add_continuous("noise", noise);
  t.add_continuous("after", after);
  t.add_discrete("success", success, {"no", "yes"});
  return t;
}

analysis_options quick(std::uint64_t seed) {
  analysis_options options;
  options.gate.permutations = 199;
  options.gate.seed = seed;
  return options;
}

}  // namespace

TEST_CASE("the_stage_depends_on_the_number_of_runs") {
  CHECK(analyse(simulated(29, 2, 1), 4, quick(1)).reached == stage::refused);
  CHECK(analyse(simulated(60, 2, 1), 4, quick(1)).reached == stage::screening);
  CHECK(analyse(simulated(150, 2, 1), 4, quick(1)).reached == stage::screening);  // categories need 200
  CHECK(analyse(simulated(150, 2, 1), 3, quick(1)).reached == stage::boundary);   // numbers need 100
  CHECK(analyse(simulated(250, 2, 1), 4, quick(1)).reached == stage::boundary);
  CHECK(analyse(simulated(600, 2, 1), 4, quick(1)).reached == stage::orientation);
  const analysis screened = analyse(simulated(60, 2, 1), 4, quick(1));
  for (const lever& l : screened.levers) CHECK(l.grade == evidence::screened);
  CHECK(screened.boundary.empty());
}

TEST_CASE("without_a_cause_a_lever_is_hardly_ever_named") {
  std::size_t named = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    named += !analyse(simulated(200, 0, seed), 4, quick(seed)).levers.empty();
  CHECK(named <= 5);
}

TEST_CASE("a_consequence_of_the_outcome_is_no_lever") {
  analysis_options options = quick(3);
  options.structure.known.tiers = {0, 1, 1, 3, 2};
  const analysis a = analyse(simulated(600, 2, 3), 4, options);
  REQUIRE(a.levers.size() >= 1);
  CHECK(a.levers[0].facts.factor == 1);
  CHECK_FALSE(a.levers[0].direction_open);
  for (const lever& l : a.levers) CHECK((l.facts.factor != 3 && l.facts.factor != 2));
  REQUIRE(a.downstream.size() == 1);
  CHECK(a.downstream[0].factor == 3);
}

TEST_CASE("twins_are_reported") {
  table t = simulated(250, 2, 5);
  std::vector<double> twice;
  for (double x : t[1].values) twice.push_back(2 * x + 1);
  t.add_continuous("twice_the_waits", twice);
  const analysis a = analyse(t, 4, quick(5));
  REQUIRE(a.twins.size() == 1);
  CHECK(a.twins[0].kept == 1);
  CHECK(a.twins[0].dropped == 5);
}

TEST_CASE("a_difference_between_clusters_is_no_cause_within_them") {
  // Tasks differ in both, runs of a task in neither.
  digd::splitmix_stream chance(8);
  table t;
  std::vector<double> factor, outcome;
  std::vector<std::uint32_t> task;
  for (std::uint32_t i = 0; i < 240; ++i) {
    task.push_back(i % 8);
    factor.push_back(3.0 * task.back() + normal(chance));
    outcome.push_back(3.0 * task.back() + normal(chance));
  }
  t.add_continuous("factor", factor);
  t.add_continuous("outcome", outcome);
  CHECK(analyse(t, 1, quick(8)).gate.open);
  analysis_options within = quick(8);
  within.gate.cluster = task;
  CHECK_FALSE(analyse(t, 1, within).gate.open);
}

TEST_CASE("the_same_seed_gives_the_same_bytes_and_every_learner_names_the_cause") {
  const table t = simulated(300, 2, 11);
  for (learner l : {learner::averaged, learner::iamb, learner::hiton, learner::add_prune}) {
    analysis_options options = quick(11);
    options.learner = l;
    const analysis once = analyse(t, 4, options), again = analyse(t, 4, options);
    CHECK(analysis_json({t, 4, once, 11, {}, {}}) == analysis_json({t, 4, again, 11, {}, {}}));
    bool named = false;
    for (const member& m : once.boundary) named = named || m.factor == 1;
    CHECK(named);
  }
}

TEST_CASE("an_edge_that_an_experiment_confirmed_makes_its_lever_verified") {
  analysis_options options = quick(2);
  options.confirmed = {{1, 4}};
  options.structure.known.required = options.confirmed;
  const analysis a = analyse(simulated(300, 2, 2), 4, options);
  REQUIRE_FALSE(a.levers.empty());
  CHECK(a.levers[0].facts.factor == 1);
  CHECK(a.levers[0].grade == evidence::verified);
}
