#include <catch2/catch.hpp>

#include <boost/json.hpp>
#include <cstdlib>
#include <set>
#include <sstream>

#include "analysis/whowhen/combine.h"
#include "analysis/whowhen/frameworks.h"
#include "analysis/whowhen/planted.h"
#include "analysis/whowhen/planted_frameworks.h"
#include "analysis/whowhen/planted_structure.h"
#include "analysis/whowhen/structure_game.h"
#include "analysis/whowhen/validate.h"
#include "ingest/protocol/replay.h"

using namespace digd::whowhen;

namespace {

const char* hand_crafted =
    R"log({"question":"How high is it?","question_ID":"q1","ground_truth":"3","mistake_agent":"WebSurfer",
  "mistake_step":"3","history":[{"role":"human","content":"How high is it?"},
  {"role":"Orchestrator (thought)","content":"Initial plan: look it up"},
  {"role":"Orchestrator (-> WebSurfer)","content":"Look it up"},)log"
    R"log({"role":"WebSurfer","content":"It is 4.\nFINAL ANSWER: 4"}]})log";

labelled_log parsed(const char* text) {
  labelled_log l;
  std::string problem;
  REQUIRE(read_log(text, l, problem));
  return l;
}

}  // namespace

TEST_CASE("a_log_is_read_with_its_planner_and_its_truth") {
  const labelled_log l = parsed(hand_crafted);
  CHECK(l.step == 3);
  CHECK(l.log.orchestrated);
  CHECK(l.log.planner == "Orchestrator");
  CHECK(l.log.steps[2].to == std::vector<std::string>{"WebSurfer"});
  labelled_log bad;
  std::string problem;
  CHECK_FALSE(read_log(R"({"history":[{"role":"a","content":"x"}]})", bad, problem));
  CHECK_FALSE(problem.empty());
  CHECK(read_log(R"({"history":[{"role":"a","content":"x"}]})", bad, problem, false));
}

TEST_CASE("agents_are_scored_by_exact_match_not_by_substring") {
  labelled_log l = parsed(hand_crafted);
  tally t;
  add(t, l, {"Web", {3}});
  CHECK(t.agent == 0);
  CHECK(t.step == 1);
  add(t, l, {"WebSurfer", {1, 2, 3}});
  CHECK(t.agent == 1);
  CHECK(t.step == 1);
  CHECK(t.within[0] == 1);
  CHECK(t.within[1] == 2);
  CHECK(t.top3 == 2);
  add(t, l, {"", {}, 0, 0, 0, true});
  CHECK(t.n == 3);
  CHECK(t.failed == 1);
}

TEST_CASE("wilsons_interval_is_the_known_one") {
  const interval i = wilson(10, 20);
  CHECK(i.low == Approx(0.2993).margin(1e-3));
  CHECK(i.high == Approx(0.7007).margin(1e-3));
  CHECK(wilson(0, 10).low == 0);
}

TEST_CASE("every_method_is_listed_with_the_baselines") {
  const labelled_log l = parsed(hand_crafted);
  results r;
  add_constants(r, l);
  const tally& random = r.at("", "random");
  CHECK(random.step == Approx(1.0 / 3));
  CHECK(r.at("", "first-acting-step").step == 1);
  CHECK(r.at("", "most-frequent-tool-agent").agent == 1);
  CHECK(r.at("", "last-tool-step").step == 1);
  CHECK(r.at("", "first-speaker").step == 0);
  const auto json = boost::json::parse(as_json(r));
  CHECK(json.at("").at("first-acting-step").at("n").as_int64() == 1);
  CHECK(json.at("").at("first-acting-step").at("step").as_double() == 1.0);
  CHECK(as_svg(r).find("<svg") == 0);
  CHECK(as_table(r).find("last-tool-step") != std::string::npos);
}

TEST_CASE("names_of_subsets_are_escaped_in_the_chart") {
  results r;
  r.at("<script>&", "chief").n = 1;
  const std::string svg = as_svg(r);
  CHECK(svg.find("<script>") == std::string::npos);
  CHECK(svg.find("&lt;script&gt;&amp;") != std::string::npos);
}

TEST_CASE("planted_faults_are_found") {
  tally t;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const labelled_log l = planted_run(seed);
    REQUIRE(l.step < l.log.steps.size());
    add(t, l, answer_of(l, digd::chief::committed_rankers()));
  }
  CHECK(t.agent / 400 >= 0.9);
  CHECK(t.step / 400 >= 0.9);
}

TEST_CASE("the_structure_game_ranks_the_planted_activation_first_and_blames_nobody_in_clean_runs") {
  constexpr std::size_t runs = 10;
  results r;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) REQUIRE(add_structure(r, seed) == "");
  REQUIRE(r.by_subset.size() == planted_rules.size() + 1);
  for (const auto& [subset, methods] : r.by_subset) {
    INFO(subset);
    const tally& t = methods.at("structure game");
    CHECK(t.n == runs);
    CHECK(t.step / runs >= (subset.starts_with("clean") ? 0.95 : 0.8));
  }
}

TEST_CASE("each_planted_structure_fires_its_rule_and_a_clean_run_fires_none") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::vector<std::optional<digd::rule_id>> rules(planted_rules.begin(), planted_rules.end());
    rules.emplace_back(std::nullopt);  // a clean run
    for (const std::optional<digd::rule_id>& rule : rules) {
      INFO(seed << ' ' << (rule ? to_string(*rule) : "clean"));
      std::set<digd::rule_id> fired;
      digd::ingest::replay::listener to;
      to.record = [&](const digd::ingest::record& record) {
        CHECK_FALSE(record.answer.refused);
        for (const digd::detection& d : record.answer.detections) fired.insert(d.rule);
      };
      digd::ingest::replay through(digd::run_policy{}, std::move(to));
      std::istringstream lines(plant_structure(rule, seed).trace);
      for (std::string line; std::getline(lines, line);) REQUIRE(through.line(line));
      CHECK((rule ? fired.count(*rule) == 1 : fired.empty()));
    }
  }
}

TEST_CASE("the_lines_of_a_planted_structure_keep_their_form") {
  const std::string trace = plant_structure(digd::rule_id::excessive_rerouting, 1).trace;
  const auto has = [&](std::string_view text) { return trace.find(text) != std::string::npos; };
  CHECK(trace.starts_with(R"({"type":"hello","protocol":1,"run":"planted","agents":["planner","writer","helper",)"
                          R"("log","editor","worker1","worker2",)"));
  CHECK(has(R"(,"spare"],"clock":"trace","mode":"observe"}
{"type":"event","seq":1,"ts":0,"event":{"id":"task","recipients":["planner"]}}
{"type":"activation_started","seq":2,"ts":)"));
  CHECK(has(R"(,"activation":"a1","agent":"planner","inputs":["task"]})"));
  CHECK(has(R"(,"activation":"a1","reactions":{},"outputs":[{"id":"part1","recipients":["worker1"]},)"));
  CHECK(has(R"(:{"reroute":["spare"]}},"outputs":[)"));
  CHECK(has(R"({"id":"answer","recipients":[],"submit":true})"));
  CHECK(trace.ends_with(R"(,"inferred":["ts"]})"
                        "\n"));
}

TEST_CASE("a_planted_run_is_the_same_for_the_same_seed") {
  const labelled_log a = planted_run(7), b = planted_run(7);
  CHECK(a.step == b.step);
  CHECK(a.log.steps.back().text == b.log.steps.back().text);
}

TEST_CASE("a_question_left_out_is_not_in_its_training_set") {
  // Two logs of one question and one of another: with the question left out, only the other one is left to learn from.
  std::vector<labelled_log> logs{planted_run(1), planted_run(1), planted_run(2)};
  const validated before = cross_validate(logs, false);
  logs[1].step = 0;  // another truth in the same question
  logs[1].agent = logs[1].log.steps[0].agent;
  const validated after = cross_validate(logs, false);
  CHECK(before.answers[0].steps == after.answers[0].steps);
}

// Needs the published logs, which are not in the repository; scripts/test runs it where they are present.
TEST_CASE("the_default_method_beats_the_baselines_on_the_logs", "[.][data][whowhen]") {
  const char* folder = std::getenv("DIGD_WHOWHEN_DIR");
  REQUIRE(folder != nullptr);
  std::vector<labelled_log> logs;
  std::string problem;
  REQUIRE(read_folder(folder, logs, problem));
  const validated v = cross_validate(logs, false);
  results r;
  for (std::size_t i = 0; i < logs.size(); ++i) add(r.at(logs[i].subset, "chief"), logs[i], v.answers[i]);
  const tally& generated = r.at("Algorithm-Generated", "chief");
  const tally& crafted = r.at("Hand-Crafted", "chief");
  CHECK(generated.step / generated.n >= 0.45);
  CHECK(generated.agent / generated.n >= 0.56);
  CHECK(crafted.step / crafted.n >= 0.20);
  CHECK(crafted.agent / crafted.n >= 0.60);
}

TEST_CASE("simulated_runs_of_frameworks_are_reproducible_and_their_truth_can_be_blamed") {
  for (std::size_t style = 0; style < log_styles.size(); ++style) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      const labelled_log l = planted_framework_run(static_cast<log_style>(style), seed);
      INFO(l.log.id);
      REQUIRE(l.step < l.log.steps.size());
      CHECK(l.log.steps[l.step].agent == l.agent);
      CHECK(digd::chief::can_be_blamed(l.log, l.step));
      CHECK(l.log.framework == digd::chief::known_framework::none);
      const labelled_log again = planted_framework_run(static_cast<log_style>(style), seed);
      CHECK(again.log.steps.size() == l.log.steps.size());
      CHECK(again.log.steps[l.step].text == l.log.steps[l.step].text);
    }
  }
}

TEST_CASE("the_paired_interval_is_that_of_agresti_and_min") {
  // 10 pairs better, 4 worse, 36 equal: (10.5 - 4.5) / 52 ± 1.96 · sqrt(15 - 36 / 52) / 52.
  std::vector<double> ours(50, 1), theirs(50, 1);
  for (int i = 0; i < 10; ++i) theirs[i] = 0;
  for (int i = 10; i < 14; ++i) ours[i] = 0;
  const difference d = paired_difference(ours, theirs);
  CHECK(d.mean == Approx(0.12));
  CHECK(d.low == Approx(0.11538 - 0.14258).margin(1e-4));
  CHECK(d.high == Approx(0.11538 + 0.14258).margin(1e-4));
}

namespace {

// Ten logs of ten questions: the ranker prefers step 1, the truth is step 2.
struct judged_logs {
  judged_logs() : labelled(10, parsed(hand_crafted)) {
    for (std::size_t i = 0; i < labelled.size(); ++i) {
      labelled[i].log.question = std::to_string(i);
      labelled[i].log.framework = digd::chief::known_framework::none;
      labelled[i].step = 2;
      labelled[i].agent = labelled[i].log.steps[2].agent;
      logs.push_back(&labelled[i]);
      ranked.push_back({.agent = labelled[i].log.steps[3].agent, .steps = {3, 2, 1}, .probabilities = {0.5, 0.3, 0.2}});
    }
  }
  combined with(std::size_t choice) const {
    const answer judge{.agent = labelled[0].log.steps[choice].agent, .steps = {choice}, .tokens = 7};
    return weigh_judge(logs, ranked, std::vector<answer>(labelled.size(), judge));
  }
  std::vector<labelled_log> labelled;
  std::vector<const labelled_log*> logs;
  std::vector<answer> ranked;
};

}  // namespace

TEST_CASE("a_judge_that_is_right_on_other_questions_decides") {
  const judged_logs given;
  const combined both = given.with(2);
  for (std::size_t i = 0; i < both.answers.size(); ++i) {
    CHECK(both.weights[i] == 4);
    CHECK(both.answers[i].steps == std::vector<std::size_t>{2, 3, 1});
    CHECK(both.answers[i].agent == given.labelled[i].agent);
    CHECK(both.answers[i].tokens == 7);
    CHECK(both.answers[i].probabilities[0] > 0.9);
  }
}

TEST_CASE("a_judge_that_is_wrong_on_other_questions_changes_nothing") {
  const judged_logs given;
  const combined both = given.with(1);
  for (std::size_t i = 0; i < both.answers.size(); ++i) {
    CHECK(both.weights[i] == 0);
    CHECK(both.answers[i].steps == given.ranked[i].steps);
  }
}

TEST_CASE("a_questions_own_truth_has_no_part_in_the_weight_of_its_judge") {
  judged_logs given;
  const combined before = given.with(2);
  given.labelled[4].step = 3;  // its judge is wrong
  const combined after = given.with(2);
  CHECK(after.weights[4] == before.weights[4]);
  CHECK(after.weights[5] < before.weights[5]);
}

TEST_CASE("methods_are_compared_on_the_same_logs") {
  const labelled_log l = parsed(hand_crafted);
  results r;
  for (int i = 0; i < 4; ++i) {
    record(r, "right", l, {.agent = l.agent, .steps = {l.step}});
    record(r, "wrong", l, {.agent = "nobody", .steps = {0}});
  }
  record(r, "fewer logs", l, {.agent = l.agent, .steps = {l.step}});
  const std::string table = paired_table(r, "right");
  CHECK(table.find("same 4 logs") != std::string::npos);
  CHECK(table.find("wrong") != std::string::npos);
  CHECK(table.find("-100.0") != std::string::npos);
  CHECK(table.find("fewer") == std::string::npos);
  CHECK(paired_table(r, "unknown").empty());
  const auto json = boost::json::parse(as_json(r, "right"));
  CHECK(json.at("difference_to right").at("wrong").at("step").at("mean").as_double() == -1.0);
}

TEST_CASE("a_framework_that_was_left_out_is_answered_without_its_logs") {
  const transfer t = leave_one_framework_out(simulated_frameworks(20, 1));
  REQUIRE(t.frameworks.size() == 3);
  for (const left_out& l : t.frameworks) {
    INFO(l.framework);
    CHECK(l.logs == 20);
    CHECK(l.step.gain.high >= 0);  // not significantly below the best constant
    CHECK(l.agent.gain.high >= 0);
  }
  const auto bins = reliability(t.logs, t.answers);
  std::size_t decisive = 0;
  for (const reliability_bin& b : bins) decisive += b.decisive;
  CHECK(decisive == 60);  // every truth is a candidate
  CHECK(reliability_svg(bins, "title").find("<circle") != std::string::npos);
}
