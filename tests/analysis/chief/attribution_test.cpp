#include <catch2/catch.hpp>

#include <boost/json.hpp>

#include "analysis/chief/attribute.h"
#include "analysis/chief/text.h"
#include "analysis/chief/trace_log.h"
#include "tests/analysis/chief/logs.h"

using namespace digd::chief;
using digd::tests::log_of;

namespace {

const char* ok = "exitcode: 0 (execution succeeded)\nCode output: ";

std::vector<finding> findings_of(const flat_log& log) { return screen(log, build_hierarchy(log)); }

}  // namespace

TEST_CASE("the_first_corruption_of_a_value_is_the_cause_and_its_users_are_symptoms") {
  const auto log = log_of("How many boats are there?", {{"Reader", "```\ncount()\n```"},
                                                        {"Terminal", "exitcode: 0 (execution succeeded)\nCode output: boats=12"},
                                                        {"Reader", "I count boats=12."},
                                                        {"Clerk", "So with boats=21 we go on."},
                                                        {"Writer", "There are boats=21."}});
  const attribution a = attribute(log);
  REQUIRE(a.findings.size() == 1);
  CHECK(a.findings[0].step == 3);
  CHECK(a.ranking.front().step == 3);
  CHECK(a.ranking.front().agent == "Clerk");
  CHECK(a.ranking.front().proven);
  CHECK(a.ranking.front().decided_by == stage::data_flow);
  CHECK(a.ranking.front().chain.front().says == "turns boats=12 into boats=21");
  CHECK(a.ranking.front().chain.front().steps == std::vector<std::size_t>{1, 3});
}

TEST_CASE("what_is_put_right_later_is_excused") {
  const auto log = log_of("How many boats are there?", {{"Reader", "```\ncount()\n```"},
                                                        {"Terminal", "exitcode: 0 (execution succeeded)\nCode output: boats=12"},
                                                        {"Reader", "I count boats=13."},
                                                        {"Reader", "Sorry, boats=12."},
                                                        {"Writer", "There are boats=12."}});
  const auto found = findings_of(log);
  REQUIRE(found.size() == 1);
  CHECK(found[0].excused);
  CHECK(found[0].excused_by == 3);
  CHECK(attribute(log).ranking.back().step == 2);
}

TEST_CASE("a_wrong_sum_is_local_and_a_right_one_is_none") {
  CHECK(findings_of(log_of("q", {{"A", "12+7+3=22, so total=22."}})).empty());
  const auto found = findings_of(log_of("q", {{"A", "12+7+3=23, so total=23."}}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].by == stage::local);
  CHECK(findings_of(log_of("q", {{"A", "see http://x/?a=1&b=2 or x+1=3 or 1+1=2=2"}})).empty());
}

TEST_CASE("who_keeps_doing_the_same_is_to_blame_in_a_loop") {
  const char* failed = "failed: the page does not open.";
  const auto repeats = log_of("q", {{"user", "q"}, {"P", "Initial plan: open it", nullptr, true},
                                    {"P", "Please open the page about boats", "W"}, {"W", failed},
                                    {"P", "Please open the page about boats", "W"}, {"W", failed},
                                    {"P", "Please open the page about boats", "W"}, {"W", failed}});
  const auto planner = findings_of(repeats);
  REQUIRE(planner.size() == 1);
  CHECK(planner[0].step == 4);
  CHECK(planner[0].by == stage::planning_control);

  const auto changes = log_of("q", {{"user", "q"}, {"P", "Initial plan: open it", nullptr, true},
                                    {"P", "Please open the page about boats", "W"}, {"W", failed},
                                    {"P", "Use the archived copy instead of that", "W"}, {"W", failed},
                                    {"P", "Download the spreadsheet from the ministry", "W"}, {"W", failed}});
  const auto executor = findings_of(changes);
  REQUIRE(executor.size() == 1);
  CHECK(executor[0].step == 3);
}

TEST_CASE("a_loop_that_gets_through_blames_nobody") {
  const auto log = log_of("q", {{"user", "q"}, {"P", "Initial plan: open it", nullptr, true},
                                {"P", "Please open the page about boats", "W"}, {"W", "failed: no."},
                                {"P", "Please open the page about boats", "W"}, {"W", "Here it is."}});
  CHECK(findings_of(log).empty());
}

TEST_CASE("a_task_turned_into_debugging_stands_out") {
  const auto log = log_of("Which harbour in Iceland had most landings of cod in 2019?",
                          {{"Py_Expert", "# General Task\nsee manager\n## Task description\nDebug the script that ends with exit "
                                         "code 1, unknown language.\n## Plan\n1. run it"},
                           {"Py_Expert", "```python\nprint(1)\n```"}, {"Computer_terminal", "exitcode: 0 (execution succeeded)\nCode output: 1"},
                           {"Check_Expert", "The error is gone and verified. TERMINATE"}});
  const attribution a = attribute(log);
  CHECK(a.ranking.front().step == 0);
  CHECK(a.ranking.front().decided_by == stage::oracle);
  CHECK_FALSE(a.ranking.front().chain.empty());
}

TEST_CASE("subtasks_cover_a_flat_log_without_overlap") {
  const auto log = log_of("How deep is the lake?", {{"user", "How deep is the lake?"}, {"P", "Initial plan: look", nullptr, true},
                                                    {"P", "Find the lake on the map", "W"}, {"W", "It is Lake Vattern."},
                                                    {"P", "Read its depth in the hydrographic register", "W"}, {"W", "128 m"}});
  const hierarchy graph = build_hierarchy(log);
  CHECK(graph.subtasks.size() == 4);
  std::size_t next = 0;
  for (const subtask& sub : graph.subtasks) {
    for (std::size_t i : sub.steps) CHECK(i == next++);
  }
  CHECK(next == log.steps.size());
}

TEST_CASE("values_join_the_step_that_gave_them_to_the_steps_that_use_them") {
  const auto log = log_of("q", {{"A", "The Vasa sank in 1628."}, {"B", "nothing"}, {"C", "1628 plus 10 is 1638."}});
  const hierarchy graph = build_hierarchy(log);
  const auto edge = std::find_if(graph.step_edges.begin(), graph.step_edges.end(), [](auto& e) { return e.from == 0 && e.to == 2; });
  REQUIRE(edge != graph.step_edges.end());
  CHECK(edge->carried == std::vector<std::string>{"1628"});
}

TEST_CASE("the_answer_is_the_same_each_time_and_its_json_is_whole") {
  const auto log = log_of("q", {{"A", "I assume the answer is 3 because of Paris, London and Rome."}, {"B", "I agree. TERMINATE"}});
  const std::string once = to_json(log, attribute(log), 5);
  CHECK(once == to_json(log, attribute(log), 5));
  const auto parsed = boost::json::parse(once);
  CHECK(parsed.at("ranking").as_array().size() == 2);
  CHECK(parsed.at("subtasks").as_array().size() == 1);
  CHECK(parsed.at("ranking").at(0).as_object().contains("decided_by"));
}

TEST_CASE("probabilities_of_all_steps_add_up_to_one") {
  const auto log = log_of("q", {{"A", "one"}, {"B", "two words here"}, {"C", "```x```"}, {"Computer_terminal", ok}});
  double sum = 0;
  for (const suspect& s : attribute(log).ranking) sum += s.probability;
  CHECK(sum == Approx(1.0));
}

TEST_CASE("an_empty_or_odd_log_is_no_crash") {
  CHECK(attribute(log_of("", {})).ranking.empty());
  CHECK(attribute(log_of("q", {{"user", "q"}})).ranking.empty());
  CHECK(attribute(log_of("\xff\xfe", {{"", "\xf0\x9f```\n'\"`=+=1+"}, {"human", ""}})).ranking.size() == 1);
}

TEST_CASE("a_trace_gives_the_same_steps_and_its_branches_are_subtasks") {
  const std::string trace =
      R"({"type":"hello","run":"r"})" "\n"
      R"({"type":"event","event":{"id":"task","recipients":["P"],"payload":{"text":"Fix it and test it."}}})" "\n"
      R"({"type":"activation_started","activation":"a","agent":"P","inputs":["task"]})" "\n"
      R"({"type":"activation_ended","activation":"a","reactions":{},"outputs":[{"id":"x","recipients":["C"],"payload":{"text":"Fix it"}},{"id":"y","recipients":["T"],"payload":"Test it"}]})" "\n"
      R"({"type":"activation_started","activation":"b","agent":"C","inputs":["x"]})" "\n"
      R"({"type":"activation_ended","activation":"b","reactions":{"x":"consume"},"outputs":[{"id":"z","recipients":["P"],"payload":{"text":"Fixed"}}]})" "\n";
  flat_log log;
  std::string why;
  REQUIRE(read_trace(trace, log, why));
  REQUIRE(log.steps.size() == 4);
  CHECK(log.question == "Fix it and test it.");
  CHECK(log.steps[2].text == "Test it");
  CHECK(log.steps[3].inputs == std::vector<std::size_t>{1});
  CHECK(log.has_dig);
  const hierarchy graph = build_hierarchy(log);
  CHECK(graph.subtask_of[3] == graph.subtask_of[1]);
  CHECK(graph.subtask_of[2] != graph.subtask_of[1]);

  flat_log bad;
  CHECK_FALSE(read_trace("not json\n", bad, why));
  CHECK(why == "line 1: expected a JSON object");
}

TEST_CASE("no_feature_is_the_place_of_a_step") {
  // Two steps alike in everything but their place get the same numbers.
  const auto log = log_of("q", {{"user", "q"}, {"A", "Hello there, nothing to report."}, {"B", "Hello there, nothing to report."},
                                {"C", "Hello there, nothing to report."}});
  const candidate_rows rows = rows_of_chat(log);
  CHECK(rows.rows[1] == rows.rows[2]);
}

TEST_CASE("a_ranker_learns_what_tells_the_truth_apart") {
  std::vector<choice> cases;
  for (int i = 0; i < 20; ++i) cases.push_back({{{0, 1}, {1, 0}, {0, 0}}, 1});
  const auto w = fit(cases, 2, 1.0);
  CHECK(w[0] > 1);
  CHECK(w[1] < 0);
  CHECK(fit({}, 2, 1.0) == std::vector<double>{0, 0});
  CHECK(probabilities(w, {{0, 1}, {1, 0}})[1] > 0.9);
}
