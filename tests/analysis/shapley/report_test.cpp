#include <unistd.h>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <numeric>

#include "analysis/shapley/cache.h"
#include "analysis/shapley/report.h"
#include "analysis/shapley/studies.h"
#include "analysis/shapley/trajectory.h"
#include "report/picture/chart.h"
#include "tests/analysis/shapley/support.h"

using namespace digd::shapley;
using namespace shapley_tests;

TEST_CASE("the_JSON_report_has_the_estimate_and_is_marked_as_synthetic") {
  const generated made = generate({"econagent", 4, 5, 0, 1}, false);
  report r = make_report(*made.game, estimate(*made.game, ask(estimator::antithetic, 50)), 0.9, 5);
  r.faithful = judge(*made.game, r.result.phi.value, 1);
  const boost::json::value v = boost::json::parse(to_json(r));
  CHECK(v.at("format").as_string() == "digd.shapley");
  CHECK(v.at("synthetic").as_bool());
  CHECK(v.at("players").as_array().size() == made.game->size());
  double sum = 0;
  for (const auto& p : v.at("players").as_array()) sum += p.at("phi").to_number<double>();
  CHECK(std::abs(sum - v.at("total").to_number<double>()) <= 1e-9);
  CHECK(v.at("metrics").at("G_ag").to_number<double>() == Approx(r.metrics.agent_concentration));
  CHECK(to_table(r, 5).find("SYNTHETIC") != std::string::npos);
}

TEST_CASE("plots_have_titles_escape_names_and_draw_error_bars_where_there_are_errors") {
  const generated made = generate({"socialnetwork", 5, 6, 3, 1}, false);
  const report r = make_report(*made.game, estimate(*made.game, ask(estimator::antithetic, 50)), 0.9, 5);
  for (const std::string& plot : {plot_steps(r), plot_agents(r), plot_behaviours(r)}) {
    CHECK(plot.find("<svg xmlns") == 0);
    CHECK(plot.find("prefers-color-scheme:dark") != std::string::npos);
    CHECK(plot.find("bar-error") != std::string::npos);
    CHECK(plot.find("SYNTHETIC") != std::string::npos);
    CHECK(plot.find("nan") == std::string::npos);
  }
  digd::picture::chart hostile(10, 10, "<script>\"&", "");
  CHECK(hostile.done().find("<script>") == std::string::npos);
}

TEST_CASE("ticks_are_round_and_cover_the_range") {
  CHECK(digd::picture::ticks(0, 1, 5) == std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1});
  CHECK(digd::picture::ticks(-30, 70, 5).front() == -20);
  CHECK(digd::picture::tick_text(0.25, 0.05) == "0.25");
}

TEST_CASE("an_estimate_comes_back_from_the_cache_bit_for_bit_another_question_finds_nothing") {
  const auto folder = std::filesystem::temp_directory_path() / ("digd_shapley_cache_" + std::to_string(::getpid()));
  const cache kept(folder);
  const generated made = generate({"twinmarket", 4, 5, 0, 1}, false);
  const estimate_options options = ask(estimator::permutation, 100);
  const estimate_result r = estimate(*made.game, options);
  const std::string key = cache::key_of(*made.game, options);
  CHECK_FALSE(kept.find(key, *made.game));
  kept.keep(key, r);
  const auto back = kept.find(key, *made.game);
  REQUIRE(back);
  CHECK(back->phi.value == r.phi.value);
  CHECK(back->phi.error == r.phi.error);
  CHECK(back->by_behaviour.error == r.by_behaviour.error);
  CHECK(back->samples == r.samples);
  estimate_options other = options;
  other.seed = 99;
  CHECK(cache::key_of(*made.game, other) != key);
  other = options;
  other.control.threads = 9;
  CHECK(cache::key_of(*made.game, other) == key);
  CHECK(cache::key_of(*generate({"twinmarket", 4, 5, 0, 2}, false).game, options) != key);
  std::filesystem::remove_all(folder);
}

TEST_CASE("distances_cosine_relative_L2_and_the_overlap_of_the_highest") {
  const distance d = compare({3, 4, 0}, {4, 3, 0}, 1);
  CHECK(d.cosine == Approx(24.0 / 25));
  CHECK(d.relative_l2 == Approx(std::sqrt(2.0) / 5));
  CHECK(d.top == 0);
  CHECK(compare({1, 2, 3}, {0.5, 2.5, 3}, 2).top == 1);
}

TEST_CASE("the_defaults_mean_error_is_below_plain_permutations_at_equal_evaluations_in_every_scenario") {
  study_options options;
  options.runs = 6;
  for (const study_case& c : small_cases()) {
    double usual = 0, plain = 0;
    for (std::uint64_t run = 1; run <= options.runs; ++run) {
      const std::unique_ptr<game> g = c.make(run);
      const estimate_result truth = estimate(*g, ask(estimator::exact));
      const auto error = [&](estimator e) {
        return compare(estimate(*g, ask(e, 130)).phi.value, truth.phi.value, 5).relative_l2;
      };
      usual += error(choose_sampling(*g, 130));
      plain += error(estimator::permutation);
    }
    INFO(c.name);
    CHECK(usual < plain);
  }
}
