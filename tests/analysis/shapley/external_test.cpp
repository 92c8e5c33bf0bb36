#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "analysis/shapley/external.h"
#include "tests/analysis/shapley/support.h"

using namespace digd::shapley;
using namespace shapley_tests;

namespace {

external_options simulator(const std::string& text) {
  external_options o;
  o.command = "exec python3 " DIGD_SOURCE_DIR "/tests/analysis/shapley/simulator.py " + text;
  o.timeout_ms = 20'000;
  o.batch = 3;
  return o;
}

std::string problem_with(const std::string& text) {
  const external_result made = make_external_game(simulator(text));
  if (!made.problem.empty()) return made.problem;
  return estimate(*made.game, ask(estimator::permutation, 4)).problem;
}

std::string scratch_file() {
  const auto path = std::filesystem::temp_directory_path() / ("digd_shapley_" + std::to_string(::getpid()));
  std::filesystem::remove(path);
  return path.string();
}

}  // namespace

TEST_CASE("the_game_of_a_simulator_is_attributed_like_any_other_also_by_several_processes") {
  const external_result made = make_external_game(simulator("well"));
  REQUIRE(made.problem == "");
  for (const unsigned threads : {1u, 3u}) {
    const estimate_result r = estimate(*made.game, ask(estimator::exact, 1, threads));
    REQUIRE(r);
    CHECK(r.phi.value[0] == Approx(1.5));
    CHECK(r.phi.value[1] == Approx(1));
    CHECK(r.phi.value[2] == Approx(1.5));
  }
  const estimate_result sampled = estimate(*made.game, ask(estimator::owen, 20));
  REQUIRE(sampled);
  CHECK(sampled.phi.value[1] == Approx(1));
}

TEST_CASE("a_simulator_that_dies_is_restarted_and_asked_again") {
  const external_result made = make_external_game(simulator("dies-each-third"));
  const estimate_result r = estimate(*made.game, ask(estimator::permutation, 10));
  REQUIRE(r);
  CHECK(r.phi.value[3] == Approx(1));
}

TEST_CASE("a_silent_simulator_is_restarted_after_the_timeout") {
  const std::string file = scratch_file();
  external_options options = simulator("once-silent " + file);
  options.timeout_ms = 5'000;
  const external_result made = make_external_game(options);
  REQUIRE(made.problem == "");
  const estimate_result r = estimate(*made.game, ask(estimator::permutation, 2));
  CHECK(r);
  std::filesystem::remove(file);
}

TEST_CASE("a_simulator_that_keeps_failing_is_given_up_with_the_reason") {
  CHECK(problem_with("dies-always") == "the simulator failed 4 times: it has ended");
  CHECK(problem_with("garbage") == "the simulator failed 4 times: its answer is not a JSON object");
  CHECK(problem_with("wrong-id") == "the simulator failed 4 times: its answer has another id than the question");
  CHECK(problem_with("too-few") == "the simulator failed 4 times: risks: 1 numbers for 2 sets");
  CHECK(problem_with("no-number") == "the simulator failed 4 times: risks[0]: a finite number");
  CHECK(problem_with("not-finite").find("the simulator failed 4 times: ") == 0);
  CHECK(problem_with("no-game") == "the simulator: its answer to hello is not a JSON object");
  const std::string file = scratch_file();
  CHECK(problem_with("changes " + file).find("another number of players") != std::string::npos);
  std::filesystem::remove(file);
}

TEST_CASE("a_command_that_cannot_be_run_is_an_error") {
  external_options options;
  options.command = "exec /nowhere/at/all 2>/dev/null";
  options.timeout_ms = 5'000;
  CHECK(make_external_game(options).problem == "the simulator: it has ended");
}
