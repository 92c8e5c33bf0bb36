#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <random>
#include <string>

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
  const auto log =
      log_of("How many boats are there?", {{"Reader", "```\ncount()\n```"},
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

TEST_CASE("an_error_corrected_later_is_excused") {
  const auto log =
      log_of("How many boats are there?", {{"Reader", "```\ncount()\n```"},
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

TEST_CASE("a_wrong_sum_is_a_local_finding_and_a_right_one_is_none") {
  CHECK(findings_of(log_of("q", {{"A", "12+7+3=22, so total=22."}})).empty());
  const auto found = findings_of(log_of("q", {{"A", "12+7+3=23, so total=23."}}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].by == stage::local);
  CHECK(findings_of(log_of("q", {{"A", "see http://x/?a=1&b=2 or x+1=3 or 1+1=2=2"}})).empty());
}

TEST_CASE("in_a_loop_the_agent_that_does_not_change_is_to_blame") {
  const char* failed = "failed: the page does not open.";
  const auto repeats = log_of("q", {{"user", "q"},
                                    {"P", "Initial plan: open it", nullptr, true},
                                    {"P", "Please open the page about boats", "W"},
                                    {"W", failed},
                                    {"P", "Please open the page about boats", "W"},
                                    {"W", failed},
                                    {"P", "Please open the page about boats", "W"},
                                    {"W", failed}});
  const auto planner = findings_of(repeats);
  REQUIRE(planner.size() == 1);
  CHECK(planner[0].step == 4);
  CHECK(planner[0].by == stage::planning_control);

  const auto changes = log_of("q", {{"user", "q"},
                                    {"P", "Initial plan: open it", nullptr, true},
                                    {"P", "Please open the page about boats", "W"},
                                    {"W", failed},
                                    {"P", "Use the archived copy instead of that", "W"},
                                    {"W", failed},
                                    {"P", "Download the spreadsheet from the ministry", "W"},
                                    {"W", failed}});
  const auto executor = findings_of(changes);
  REQUIRE(executor.size() == 1);
  CHECK(executor[0].step == 3);
}

TEST_CASE("a_loop_that_succeeds_blames_nobody") {
  const auto log = log_of("q", {{"user", "q"},
                                {"P", "Initial plan: open it", nullptr, true},
                                {"P", "Please open the page about boats", "W"},
                                {"W", "failed: no."},
                                {"P", "Please open the page about boats", "W"},
                                {"W", "Here it is."}});
  CHECK(findings_of(log).empty());
}

TEST_CASE("a_task_turned_into_debugging_stands_out") {
  const auto log = log_of("Which harbour in Iceland had most landings of cod in 2019?",
                          {{"Py_Expert",
                            "# General Task\nsee manager\n## Task description\nDebug the script that ends with exit "
                            "code 1, unknown language.\n## Plan\n1. run it"},
                           {"Py_Expert", "```python\nprint(1)\n```"},
                           {"Computer_terminal", "exitcode: 0 (execution succeeded)\nCode output: 1"},
                           {"Check_Expert", "The error is gone and verified. TERMINATE"}});
  const attribution a = attribute(log);
  CHECK(a.ranking.front().step == 0);
  CHECK(a.ranking.front().decided_by == stage::oracle);
  CHECK_FALSE(a.ranking.front().chain.empty());
}

TEST_CASE("subtasks_cover_a_flat_log_without_overlap") {
  const auto log = log_of("How deep is the lake?", {{"user", "How deep is the lake?"},
                                                    {"P", "Initial plan: look", nullptr, true},
                                                    {"P", "Find the lake on the map", "W"},
                                                    {"W", "It is Lake Vattern."},
                                                    {"P", "Read its depth in the hydrographic register", "W"},
                                                    {"W", "128 m"}});
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
  const auto edge =
      std::find_if(graph.step_edges.begin(), graph.step_edges.end(), [](auto& e) { return e.from == 0 && e.to == 2; });
  REQUIRE(edge != graph.step_edges.end());
  CHECK(edge->carried == std::vector<std::string>{"1628"});
}

TEST_CASE("the_attribution_is_deterministic_and_its_json_is_complete") {
  const auto log =
      log_of("q", {{"A", "I assume the answer is 3 because of Paris, London and Rome."}, {"B", "I agree. TERMINATE"}});
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

TEST_CASE("an_empty_or_odd_log_does_not_crash") {
  CHECK(attribute(log_of("", {})).ranking.empty());
  CHECK(attribute(log_of("q", {{"user", "q"}})).ranking.empty());
  CHECK(attribute(log_of("\xff\xfe", {{"", "\xf0\x9f```\n'\"`=+=1+"}, {"human", ""}})).ranking.size() == 1);
}

TEST_CASE("a_trace_gives_the_same_steps_and_its_branches_are_subtasks") {
  const std::string trace =
      R"({"type":"hello","run":"r"})"
      "\n"
      R"({"type":"event","event":{"id":"task","recipients":["P"],"payload":{"text":"Fix it and test it."}}})"
      "\n"
      R"({"type":"activation_started","activation":"a","agent":"P","inputs":["task"]})"
      "\n"
      R"({"type":"activation_ended","activation":"a","reactions":{},"outputs":[{"id":"x","recipients":["C"],"payload":{"text":"Fix it"}},{"id":"y","recipients":["T"],"payload":"Test it"}]})"
      "\n"
      R"({"type":"activation_started","activation":"b","agent":"C","inputs":["x"]})"
      "\n"
      R"({"type":"activation_ended","activation":"b","reactions":{"x":"consume"},"outputs":[{"id":"z","recipients":["P"],"payload":{"text":"Fixed"}}]})"
      "\n";
  flat_log log;
  std::string problem;
  REQUIRE(read_trace(trace, log, problem));
  REQUIRE(log.steps.size() == 4);
  CHECK(log.question == "Fix it and test it.");
  CHECK(log.steps[2].text == "Test it");
  CHECK(log.steps[3].inputs == std::vector<std::size_t>{1});
  CHECK(log.has_dig);
  const hierarchy graph = build_hierarchy(log);
  CHECK(graph.subtask_of[3] == graph.subtask_of[1]);
  CHECK(graph.subtask_of[2] != graph.subtask_of[1]);
}

namespace {

flat_log traced(std::string_view lines) {
  flat_log log;
  std::string problem;
  INFO(problem);
  REQUIRE(read_trace(std::string(R"({"type":"hello","run":"r"})"
                                 "\n") +
                         std::string(lines),
                     log, problem));
  return log;
}

}  // namespace

TEST_CASE("a_recorded_step_names_its_activation_among_those_of_its_agent") {
  flat_log log;
  std::string problem;
  REQUIRE(read_trace(R"({"type":"hello","run":"r"}
{"type":"event","event":{"id":"q","recipients":["a"],"payload":"count"}}
{"type":"activation_started","activation":"x","agent":"a","inputs":["q"]}
{"type":"activation_ended","activation":"x","outputs":[{"id":"e1","recipients":["b"],"payload":"one"}]}
{"type":"activation_started","activation":"y","agent":"b","inputs":["e1"]}
{"type":"activation_ended","activation":"y","outputs":[{"id":"e2","recipients":["a"],"payload":"two"}]}
{"type":"activation_started","activation":"z","agent":"a","inputs":["e2"]}
{"type":"activation_ended","activation":"z","outputs":[{"id":"e3","recipients":["b"],"payload":"three"}]}
)",
                     log, problem));
  REQUIRE(log.steps.size() == 4);
  CHECK(log.steps[0].activation_number == 0);  // the user's
  CHECK(log.steps[1].activation_number == 1);
  CHECK(log.steps[2].activation_number == 1);
  CHECK(log.steps[3].activation_number == 2);
  CHECK(describe(log, attribute(log), 9).find("a, activation 2 (") != std::string::npos);
  CHECK(to_json(log, attribute(log), 9).find("\"activation\":2") != std::string::npos);
}

TEST_CASE("an_event_of_an_open_activation_is_a_step_of_its_agent") {
  const flat_log log = traced(R"({"type":"event","event":{"id":"task","recipients":["P"],"payload":{"text":"Count."}}})"
                              "\n"
                              R"({"type":"activation_started","activation":"a","agent":"P","inputs":["task"]})"
                              "\n"
                              R"({"type":"event","event":{"id":"x","source":"a","recipients":["C"],"payload":"one"}})"
                              "\n"
                              R"({"type":"event","event":{"id":"y","source":"a","recipients":["C"],"payload":"two"}})"
                              "\n");
  REQUIRE(log.steps.size() == 3);
  CHECK(log.steps[1].agent == "P");
  CHECK(log.steps[1].event == "x");
  CHECK(log.steps[1].inputs == std::vector<std::size_t>{0});
  CHECK(log.steps[1].branch == 0);  // as many outputs as inputs: it reduces still
  CHECK(log.steps[2].branch == 1);
}

TEST_CASE("a_failed_activation_is_a_step_that_can_be_blamed") {
  const flat_log log = traced(R"({"type":"event","event":{"id":"task","recipients":["P"],"payload":"Count."}})"
                              "\n"
                              R"({"type":"activation_started","activation":"a","agent":"P","inputs":["task"]})"
                              "\n"
                              R"({"type":"activation_ended","activation":"a","failed":true,"error":"timeout"})"
                              "\n");
  REQUIRE(log.steps.size() == 2);
  CHECK(log.steps[1].text == "failed: timeout");
  CHECK(log.steps[1].execution == execution_state::failed);
  CHECK(can_be_blamed(log, 1));
  CHECK(log.steps[1].event.empty());
}

TEST_CASE("only_consumed_inputs_of_an_ended_activation_are_used") {
  const flat_log log = traced(
      R"({"type":"event","event":{"id":"a","payload":"1"}})"
      "\n"
      R"({"type":"event","event":{"id":"b","payload":"2"}})"
      "\n"
      R"({"type":"event","event":{"id":"c","payload":"3"}})"
      "\n"
      R"({"type":"event","event":{"id":"d","payload":"4"}})"
      "\n"
      R"({"type":"activation_started","activation":"v","agent":"P","inputs":["a","b","c","d"]})"
      "\n"
      R"({"type":"activation_ended","activation":"v","reactions":{"a":"discard","b":"wait","c":{"reroute":["Q"]}},"outputs":[{"id":"e","payload":"5"}]})"
      "\n");
  CHECK(log.steps.back().inputs == std::vector<std::size_t>{3});
}

TEST_CASE("lines_that_digd_would_refuse_are_left_out_and_counted") {
  const flat_log log =
      traced(R"({"type":"event","event":{"id":"a","payload":"1"}})"
             "\n"
             R"({"type":"event","event":{"id":"a","payload":"again"}})"
             "\n"
             R"({"type":"activation_ended","activation":"nobodys","outputs":[{"id":"z","payload":"?"}]})"
             "\n"
             "{broken\n[1]\n"
             R"({"type":"event","event":{"id":"q","source":"nobodys","payload":"?"}})"
             "\n");
  CHECK(log.steps.size() == 1);
  CHECK(log.steps[0].text == "1");
  CHECK(log.left_out == 5);
}

TEST_CASE("a_step_with_a_deep_payload_is_read") {
  const std::string deep = std::string(900, '[') + std::string(900, ']');
  const flat_log log = traced(R"({"type":"event","event":{"id":"a","payload":)" + deep + "}}\n");
  CHECK(log.steps.size() == 1);
  CHECK(log.left_out == 0);
}

TEST_CASE("a_text_that_is_no_trace_is_refused_with_the_expected_formats") {
  flat_log bad;
  std::string problem;
  CHECK_FALSE(read_trace("not json\n", bad, problem));
  CHECK(problem.find("first line is a hello") != std::string::npos);
  CHECK_FALSE(read_trace(R"({"type":"hello","run":"r"})", bad, problem));
  CHECK(problem == "no event in it");
}

TEST_CASE("an_agent_that_hands_code_to_a_terminal_is_no_planner") {
  const char* run = "exitcode: 0 (execution succeeded)\nCode output: 1";
  CHECK_FALSE(
      log_of("q", {{"A", "```1```", "T"}, {"T", run, "A"}, {"A", "```2```", "T"}, {"T", run, "A"}}).orchestrated);
  CHECK(log_of("q", {{"A", "count", "B"}, {"B", "12", "A"}, {"A", "weigh", "B"}, {"B", "13", "A"}}).planner == "A");
}

TEST_CASE("no_feature_depends_on_the_index_of_a_step") {
  // Two steps alike in everything but their place get the same numbers.
  const auto log = log_of("q", {{"user", "q"},
                                {"A", "Hello there, nothing to report."},
                                {"B", "Hello there, nothing to report."},
                                {"C", "Hello there, nothing to report."}});
  for (const candidate_rows& rows : {rows_of_chat(log), rows_of_any(log)}) CHECK(rows.rows[1] == rows.rows[2]);
}

TEST_CASE("the_repetition_of_a_step_is_its_likeness_to_the_most_alike_earlier_step_of_its_agent") {
  const std::array<std::string, 7> words{"ship", "harbour", "captain", "storm", "anchor", "lantern", "voyage"};
  std::mt19937 random(7);
  flat_log log;
  for (std::size_t i = 0; i < 300; ++i) {
    flat_step step;
    step.agent.assign(1, i % 3 == 0 ? 'A' : 'B');  // GCC warns of an assigned literal
    for (std::size_t n = random() % 6; n-- > 0;) step.text += words[random() % words.size()] + ' ';
    log.steps.push_back(std::move(step));
  }
  recognise_forms(log);
  const auto& features = chat_features();
  const auto repetition = static_cast<std::size_t>(
      std::find_if(features.begin(), features.end(), [](auto& f) { return f.name == "repetition"; }) -
      features.begin());
  const candidate_rows rows = rows_of_chat(log);
  REQUIRE(rows.steps.size() == log.steps.size());
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    double most = 0;
    for (std::size_t before = 0; before < i; ++before) {
      if (log.steps[before].agent != log.steps[i].agent) continue;
      most = std::max(most, jaccard(content_words(log.steps[i].text), content_words(log.steps[before].text)));
    }
    CHECK(rows.rows[i][repetition] == most);
  }
}

TEST_CASE("a_framework_is_recognised_by_its_form_and_no_other_is_taken_for_it") {
  CHECK(log_of("q", {{"A_Expert", "# General Task\nfrom your manager"}}).framework == known_framework::captain_agent);
  CHECK(log_of("q", {{"Orchestrator", "Updated Ledger: {\"is_request_satisfied\": {}}", nullptr, true}}).framework ==
        known_framework::magentic_one);
  const flat_log other = log_of("q", {{"supervisor", "{\"next\": \"writer\"}"}, {"writer", "There are 12."}});
  CHECK(other.framework == known_framework::none);
  CHECK(describe(other, attribute(other), 1).find("framework: not recognised") != std::string::npos);
  CHECK(to_json(other, attribute(other), 1).find("\"framework\":\"unknown\"") != std::string::npos);
}

TEST_CASE("an_unknown_framework_is_judged_by_generic_evaluators_alone") {
  const flat_log log = log_of("q", {{"A", "It is 1628."}, {"B", "I assume that 1628 is right. TERMINATE"}});
  ranker_set generic_only = committed_rankers();
  std::fill(generic_only.chat.begin(), generic_only.chat.end(), 0.0);
  std::fill(generic_only.orchestrated.begin(), generic_only.orchestrated.end(), 0.0);
  std::fill(generic_only.agents.begin(), generic_only.agents.end(), 0.0);
  CHECK(to_json(log, attribute(log), 5) == to_json(log, attribute(log, generic_only), 5));
}

TEST_CASE("a_part_is_diagnostic_exactly_if_it_decides_nothing") {
  const flat_log log = log_of("q", {{"A", "It is 1628."}, {"B", "I assume that 1628 is right. TERMINATE"}});
  const auto is_diagnostic = [](const attribution& a, std::string_view part) {
    return std::find(a.diagnostic.begin(), a.diagnostic.end(), part) != a.diagnostic.end();
  };
  const auto weight_of = [](ranker_set& set, std::string_view evaluator) -> double& {
    const auto& features = generic_features();
    const auto at = std::find_if(features.begin(), features.end(), [&](auto& f) { return f.name == evaluator; });
    return set.generic[static_cast<std::size_t>(at - features.begin())];
  };
  for (const auto& [evaluator, part] :
       {std::pair{"discrepant", "backtracking"}, std::pair{"used_later", "edges.steps"}}) {
    INFO(part);
    ranker_set decisive = committed_rankers(), ignored = committed_rankers();
    weight_of(decisive, evaluator) = 5;
    weight_of(ignored, evaluator) = 0;
    CHECK_FALSE(is_diagnostic(attribute(log, decisive), part));
    CHECK(is_diagnostic(attribute(log, ignored), part));
  }
  const flat_log known = log_of("q", {{"A_Expert", "# General Task\nfrom your manager"}, {"B_Expert", "It is 3."}});
  CHECK(is_diagnostic(attribute(known), "backtracking"));
  CHECK(is_diagnostic(attribute(known), "edges.steps"));
  CHECK(to_json(known, attribute(known), 1).find("\"diagnostic\":[\"edges.subtasks\"") != std::string::npos);
}

TEST_CASE("the_ranking_is_in_order_of_the_displayed_probability") {
  const flat_log log = log_of("q", {{"Orchestrator", "Updated Ledger: {\"is_request_satisfied\": {}}", nullptr, true},
                                    {"Orchestrator", "Look it up", "Web"},
                                    {"Web", "It is 1628."},
                                    {"Orchestrator", "Look again", "Web"},
                                    {"Web", "It is 1629."}});
  const attribution a = attribute(log);
  for (std::size_t i = 1; i < a.ranking.size(); ++i) CHECK(a.ranking[i - 1].probability >= a.ranking[i].probability);
  CHECK(a.ranking[a.lead].agent == a.agents.front().first);
}

TEST_CASE("steps_with_equal_evidence_are_ranked_by_order_and_marked") {
  const flat_log log = log_of("q", {{"A", "hello there."}, {"B", "hello there."}});
  CHECK(attribute(log).ranking.front().decided_by == stage::order);
}

TEST_CASE("a_ranker_learns_the_features_of_the_truth") {
  std::vector<choice> cases;
  for (int i = 0; i < 20; ++i) cases.push_back({{{0, 1}, {1, 0}, {0, 0}}, 1});
  const auto w = fit(cases, {leaning::either, leaning::either}, 1.0);
  CHECK(w[0] > 1);
  CHECK(w[1] < 0);
  CHECK(fit({}, {leaning::either, leaning::either}, 1.0) == std::vector<double>{0, 0});
  CHECK(probabilities(w, {{0, 1}, {1, 0}})[1] > 0.9);
}

TEST_CASE("a_weight_never_contradicts_its_feature") {
  // The second feature speaks against the truth in every case; the first and the third for it, alike.
  std::vector<choice> cases;
  for (int i = 0; i < 20; ++i) cases.push_back({{{0, 1, 0}, {1, 0, 1}, {0, 0, 0}}, 1});
  const auto free = fit(cases, {leaning::either, leaning::either, leaning::either}, 1.0);
  CHECK(free[1] < 0);
  const auto held = fit(cases, {leaning::accuses, leaning::accuses, leaning::excuses}, 1.0);
  CHECK(held[0] > 1);
  CHECK(held[1] == 0);
  CHECK(held[2] == 0);
}

TEST_CASE("the_committed_weights_match_the_features") {
  const auto check = [](const std::vector<double>& weights, const std::vector<feature_info>& features) {
    REQUIRE(weights.size() == features.size());
    CHECK(std::any_of(weights.begin(), weights.end(), [](double w) { return w != 0; }));
    for (std::size_t k = 0; k < weights.size(); ++k) {
      INFO(features[k].name);
      CHECK((features[k].weighs != leaning::accuses || weights[k] >= 0));
      CHECK((features[k].weighs != leaning::excuses || weights[k] <= 0));
    }
  };
  check(committed_rankers().chat, chat_features());
  check(committed_rankers().orchestrated, orchestrated_features());
  check(committed_rankers().agents, agent_features());
  check(committed_rankers().generic, generic_features());
}
