#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "analysis/shapley/report.h"
#include "analysis/shapley/structure.h"
#include "ingest/protocol/replay.h"
#include "tests/analysis/shapley/support.h"

using namespace digd::shapley;
using namespace shapley_tests;

namespace {

// a splits the task: x for b, y for a ghost; b makes two events of x that nobody takes up.
const std::string hand_trace =
    R"({"type":"hello","protocol":1,"run":"hand","agents":["a","b"],"clock":"trace","mode":"observe"}
{"type":"event","seq":1,"ts":0,"event":{"id":"task","recipients":["a"]}}
{"type":"activation_started","seq":2,"ts":10,"activation":"A1","agent":"a","inputs":["task"]}
{"type":"activation_ended","seq":3,"ts":20,"activation":"A1","reactions":{},"outputs":[{"id":"x","recipients":["b"]},{"id":"y","recipients":["ghost"]}]}
{"type":"activation_started","seq":4,"ts":30,"activation":"B1","agent":"b","inputs":["x"]}
{"type":"activation_ended","seq":5,"ts":40,"activation":"B1","reactions":{},"outputs":[{"id":"z1","recipients":["a"]},{"id":"z2","recipients":["a"]}]}
)";

// a asks b, b answers, a submits.
const std::string clean_trace =
    R"({"type":"hello","protocol":1,"run":"clean","agents":["a","b"],"clock":"trace","mode":"observe"}
{"type":"event","seq":1,"ts":0,"event":{"id":"task","recipients":["a"]}}
{"type":"activation_started","seq":2,"ts":10,"activation":"A1","agent":"a","inputs":["task"]}
{"type":"activation_ended","seq":3,"ts":20,"activation":"A1","reactions":{},"outputs":[{"id":"x","recipients":["b"]}]}
{"type":"activation_started","seq":4,"ts":30,"activation":"B1","agent":"b","inputs":["x"]}
{"type":"activation_ended","seq":5,"ts":40,"activation":"B1","reactions":{},"outputs":[{"id":"z","recipients":["a"]}]}
{"type":"activation_started","seq":6,"ts":50,"activation":"A2","agent":"a","inputs":["z"]}
{"type":"activation_ended","seq":7,"ts":60,"activation":"A2","outputs":[{"id":"answer","recipients":[],"submit":true}]}
{"type":"time","seq":8,"ts":30000}
)";

double risk_of(const game& g, std::vector<std::uint8_t> set) {
  double out = -1;
  REQUIRE(value_of(*g.make_evaluator(), set, out));
  return out;
}

std::string file_text(const std::string& name) {
  std::ifstream file(std::string(DIGD_SOURCE_DIR "/tests/traces/") + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the_risk_of_each_set_is_that_of_a_replay_with_healthy_counterparts_of_the_others") {
  const structure_result made = make_structure_game(hand_trace, {});
  REQUIRE(made.problem == "");
  const game& g = *made.game;
  REQUIRE(g.size() == 2);
  CHECK(made.detections == 1);     // y has no recipient
  CHECK(risk_of(g, {0, 0}) == 2);  // z1 and z2 wait; the counterpart of A1 would not have sent y
  CHECK(risk_of(g, {0, 1}) == 2);
  CHECK(risk_of(g, {1, 0}) == 3);  // the orphan
  CHECK(risk_of(g, {1, 1}) == 3);
  const estimate_result r = estimate(g, ask(estimator::exact));
  CHECK(r.phi.value[0] == Approx(1));
  CHECK(r.phi.value[1] == Approx(0));
}

TEST_CASE("a_clean_run_has_no_threshold_and_no_ranking") {
  const structure_result made = make_structure_game(clean_trace, {});
  const estimate_result result = estimate(*made.game, ask(estimator::exact));
  REQUIRE(result.total == 0);
  const report r = make_report(*made.game, result, usual_share, 1);
  CHECK_FALSE(r.metrics.formed);
  CHECK(r.metrics.latency == 0);
  const std::string table = to_table(r, 10);
  CHECK(table.find("nothing to attribute: the risk is 0 with every action kept and 0 with none; no T*, no ranking") !=
        std::string::npos);
  CHECK(table.find("A1") == std::string::npos);
  CHECK(to_json(r).find("\"adds_risk\":false") != std::string::npos);
  CHECK(to_json(r).find("\"T_star\":null") != std::string::npos);
  // A threshold given by the caller makes no difference.
  CHECK_FALSE(measure(made.game->players(), result, -10).formed);
}

TEST_CASE("in_the_demo_the_activation_that_submits_the_accepted_answer_is_not_first") {
  const structure_result made = make_structure_game(file_text("demo.jsonl"), {});
  const estimate_result r = estimate(*made.game, ask(estimator::exact));
  REQUIRE(r.adds_risk());
  CHECK(r.baseline == 0);
  const auto first = std::max_element(r.phi.value.begin(), r.phi.value.end()) - r.phi.value.begin();
  // It sends two results to agents that still hold work of another lineage.
  CHECK(made.game->players().names[static_cast<std::size_t>(first)] == "writer-3");
}

TEST_CASE("the_counterpart_of_a_worker_that_waits_for_nothing_answers_and_the_run_ends_well") {
  const std::string trace =
      R"({"type":"hello","protocol":1,"run":"stuck","agents":["a","b","c"],"clock":"trace","mode":"observe"}
{"type":"event","seq":1,"ts":0,"event":{"id":"task","recipients":["a"]}}
{"type":"activation_started","seq":2,"ts":10,"activation":"A1","agent":"a","inputs":["task"]}
{"type":"activation_ended","seq":3,"ts":20,"activation":"A1","reactions":{},"outputs":[{"id":"x","recipients":["b"]},{"id":"y","recipients":["c"]}]}
{"type":"activation_started","seq":4,"ts":30,"activation":"B1","agent":"b","inputs":["x"]}
{"type":"activation_ended","seq":5,"ts":40,"activation":"B1","reactions":{"x":"wait"},"outputs":[]}
{"type":"activation_started","seq":6,"ts":50,"activation":"C1","agent":"c","inputs":["y"]}
{"type":"activation_ended","seq":7,"ts":60,"activation":"C1","reactions":{},"outputs":[{"id":"z","recipients":["a"]}]}
{"type":"activation_started","seq":8,"ts":70,"activation":"A2","agent":"a","inputs":["z"]}
{"type":"activation_ended","seq":9,"ts":80,"activation":"A2","reactions":{"z":"wait"},"outputs":[]}
{"type":"time","seq":10,"ts":30000}
)";
  const structure_result made = make_structure_game(trace, {});
  REQUIRE(made.problem == "");
  CHECK(made.detections == 1);                    // deadlock
  CHECK(risk_of(*made.game, {1, 1, 1, 1}) == 3);  // and x and z wait
  CHECK(risk_of(*made.game, {1, 0, 1, 1}) == 0);
  CHECK(risk_of(*made.game, {1, 1, 1, 0}) == 3);  // a waits for b's answer, and may
}

TEST_CASE("the_counterpart_of_a_premature_answer_does_not_send_it") {
  const std::string trace =
      R"({"type":"hello","protocol":1,"run":"early","agents":["a","b"],"clock":"trace","mode":"observe"}
{"type":"event","seq":1,"ts":0,"event":{"id":"task","recipients":["a"]}}
{"type":"activation_started","seq":2,"ts":10,"activation":"A1","agent":"a","inputs":["task"]}
{"type":"activation_ended","seq":3,"ts":20,"activation":"A1","reactions":{},"outputs":[{"id":"x","recipients":["b"]}]}
{"type":"activation_started","seq":4,"ts":30,"activation":"A2","agent":"a","inputs":[]}
{"type":"activation_ended","seq":5,"ts":40,"activation":"A2","outputs":[{"id":"answer","recipients":[],"submit":true}]}
{"type":"activation_started","seq":6,"ts":50,"activation":"B1","agent":"b","inputs":["x"]}
{"type":"activation_ended","seq":7,"ts":60,"activation":"B1","reactions":{},"outputs":[{"id":"z","recipients":["a"]}]}
{"type":"time","seq":8,"ts":30000}
)";
  const structure_result made = make_structure_game(trace, {});
  REQUIRE(made.problem == "");
  CHECK(risk_of(*made.game, {1, 1, 1}) == 2);  // early_termination, and z waits
  CHECK(risk_of(*made.game, {1, 0, 1}) == 0);
}

TEST_CASE("a_run_whose_activations_cancel_out_has_nothing_to_attribute_although_rounding_leaves_a_rest") {
  estimate_result result;
  result.baseline = 7;
  result.total = 3e-15;
  CHECK_FALSE(result.adds_risk());
  result.total = 0.25;
  CHECK(result.adds_risk());
}

TEST_CASE("a_run_that_adds_risk_is_ranked") {
  const structure_result made = make_structure_game(hand_trace, {});
  const report r = make_report(*made.game, estimate(*made.game, ask(estimator::exact)), usual_share, 1);
  CHECK(r.metrics.formed);
  CHECK(to_table(r, 10).find("A1") != std::string::npos);
  CHECK(to_json(r).find("\"adds_risk\":true") != std::string::npos);
}

TEST_CASE("each_weight_multiplies_its_own_count") {
  structure_options options;
  options.failure_weight = 10;
  options.unresolved_weight = 0.5;
  const structure_result made = make_structure_game(hand_trace, options);
  CHECK(risk_of(*made.game, {1, 1}) == Approx(10 + 2 * 0.5));
}

TEST_CASE("an_activation_takes_place_with_the_inputs_that_still_exist") {
  const std::string more =
      hand_trace +
      R"({"type":"activation_started","seq":6,"ts":50,"activation":"A2","agent":"a","inputs":["z1","task"]}
{"type":"activation_ended","seq":7,"ts":60,"activation":"A2","reactions":{},"outputs":[{"id":"late","recipients":["b"]}]}
)";
  const structure_result made = make_structure_game(more, {});
  REQUIRE(made.game->size() == 3);
  // z2 waits. The task was taken up before, and the counterpart of B1 stays and takes up `late`.
  CHECK(risk_of(*made.game, {0, 0, 1}) == 1);
  CHECK(risk_of(*made.game, {1, 0, 1}) == 2);  // and the orphan
  CHECK(risk_of(*made.game, {1, 1, 1}) == 3);  // and `late`
}

TEST_CASE("with_all_activations_kept_the_replay_equals_the_run") {
  const std::string text = file_text("demo.jsonl");
  double weighted = 0;
  digd::ingest::replay::listener to;
  to.record = [&](const digd::ingest::record& record) {
    for (const digd::detection& d : record.answer.detections)
      weighted += d.severity == digd::severity::failure ? 1 : 0.25;
  };
  digd::ingest::replay through(digd::run_policy{}, std::move(to));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) REQUIRE(through.line(line));
  weighted += static_cast<double>(through.run()->graph().reachable().size());
  const structure_result made = make_structure_game(text, {});
  REQUIRE(made.problem == "");
  CHECK(risk_of(*made.game, std::vector<std::uint8_t>(made.game->size(), 1)) == Approx(weighted));
  CHECK(made.detections == through.counted().detections);
}

TEST_CASE("an_activation_marked_as_null_has_no_influence") {
  const structure_result made = make_structure_game(file_text("demo.jsonl"), {});
  const std::size_t n = made.game->size();
  for (std::size_t p = 0; p < n; ++p) {
    if (!made.game->players().null[p]) continue;
    std::vector<std::uint8_t> without(n, 1);
    without[p] = 0;
    CHECK(risk_of(*made.game, without) == risk_of(*made.game, std::vector<std::uint8_t>(n, 1)));
  }
}

TEST_CASE("a_text_that_is_no_trace_is_refused") {
  CHECK(make_structure_game("", {}).problem == "not a trace: the file is empty");
  CHECK(make_structure_game("{}\n", {}).problem.find("line 1") == 0);
  CHECK(make_structure_game(hand_trace.substr(0, hand_trace.find('\n') + 1), {}).problem ==
        "the run has no activations");
}
