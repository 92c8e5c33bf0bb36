// Repeated subproblem (RSP): a result is announced for work to which another agent already gave a result.
#include <catch2/catch.hpp>

#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

// ada and bob both received e2, and both answer it.
const firing answered_twice{
    .rule = "repeated_subproblem",
    .hello = R"("agents":["ada","bob","cy"])",
    .lines = R"(
{"type":"event","event":{"id":"e2","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e2"]}
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e2"]}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e4","recipients":["cy"]}]}
)",
    .last = R"({"type":"activation_ended","activation":"v3","ts":7,"outputs":[{"id":"e5","recipients":["cy"]}]})"};

}  // namespace

TEST_CASE("the_second_result_for_the_same_work_carries_a_text_about_the_first") {
  const scenario s = play(answered_twice);
  const detection& d = s.only();
  CHECK(summary(d) == "repeated_subproblem e5 [e2] inject");
  CHECK(d.severity == severity::warning);
  CHECK(d.at == 5u);
  CHECK(d.ts == 7);
  CHECK(d.agent == std::nullopt);
  CHECK(d.reason == R"(The output "e5" of agent "bob" answers work that "ada" answered already: "e2".)");
  CHECK(s.verdict_on("e5").action == action::inject);
  CHECK(s.verdict_on("e5").inject ==
        R"(The event "e5" of agent "bob" answers "e2", which "ada" already worked on. Do not count both results: )"
        R"(compare them, keep the better one, and repeat only the part that was wrong or missing.)");
}

TEST_CASE("repeated_subproblem_ignores_near_misses") {
  // The trace begins the same each time. The lines in `ada` follow, then those in `bob`.
  const auto detections_after = [](const std::string& ada, const std::string& bob) {
    scenario s(R"({"type":"hello","agents":["ada","bob","cy"]}
{"type":"event","event":{"id":"e2","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e2"]}
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e2"]})");
    return s.then(ada).then(bob).detection_summaries();
  };
  const std::string answer =
      R"({"type":"activation_ended","activation":"v3","outputs":[{"id":"e5","recipients":["cy"]}]})";
  const std::string consumed = R"({"type":"activation_ended","activation":"v2"})";
  CHECK(detections_after(consumed, answer) == strings{"repeated_subproblem e5 [e2] inject"});
  // Ada has not ended, has failed, discarded it, rerouted it, or waits.
  CHECK(detections_after("", answer) == strings{});
  CHECK(detections_after(R"({"type":"activation_ended","activation":"v2","failed":true})", answer) == strings{});
  for (const char* reaction : {R"("discard")", R"("wait")", R"({"reroute":["cy"]})"}) {
    CHECK(detections_after(R"({"type":"activation_ended","activation":"v2",)"
                           R"("reactions":{"e2":)" +
                               std::string(reaction) + "}}",
                           answer) == strings{});
  }
  // Ada has split it, or bob splits it.
  CHECK(detections_after(R"({"type":"activation_ended","activation":"v2","outputs":[)"
                         R"({"id":"e6","recipients":["cy"]},{"id":"e7","recipients":["cy"]}]})",
                         answer) == strings{});
  CHECK(detections_after(consumed,
                         R"({"type":"activation_ended","activation":"v3","outputs":[)"
                         R"({"id":"e5","recipients":["cy"]},{"id":"e6","recipients":["cy"]}]})") == strings{});
  // Bob did not use it, sends an fyi event, or submits.
  CHECK(detections_after(consumed,
                         R"({"type":"activation_ended","activation":"v3","reactions":{"e2":"wait"},"outputs":[)"
                         R"({"id":"e5","recipients":["cy"]}]})") == strings{});
  CHECK(
      detections_after(
          consumed,
          R"({"type":"activation_ended","activation":"v3","outputs":[{"id":"e5","recipients":["cy"],"fyi":true}]})") ==
      strings{});
  CHECK(detections_after(consumed, R"({"type":"activation_ended","activation":"v3","outputs":[)"
                                   R"({"id":"e5","recipients":["cy"],"submit":true}]})") == strings{});
}

TEST_CASE("an_activation_does_not_repeat_its_own_results") {
  scenario s(R"(
{"type":"hello","agents":["ada","cy"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"event","event":{"id":"e2","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1","e2"]}
{"type":"event","event":{"id":"e3","source":"v1","recipients":["cy"]}}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e4","recipients":["cy"]}]})");
  CHECK(s.detection_summaries() == strings{});
}

TEST_CASE("answering_an_fyi_event_twice_is_not_a_repetition") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy"]}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"],"fyi":true}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e2","recipients":["cy"]}]}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e3","recipients":["cy"]}]})");
  CHECK(s.detection_summaries() == strings{});
}

TEST_CASE("an_output_of_an_open_activation_is_judged_by_all_its_inputs") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy"]}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"event","event":{"id":"e3","source":"v2","recipients":["cy"]}})");
  CHECK(s.detection_summaries() == strings{"repeated_subproblem e3 [e1] inject"});
}

TEST_CASE("work_that_others_finish_between_two_outputs_of_an_activation_counts_for_the_second") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy"]}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"event","event":{"id":"e2","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1","e2"]}
{"type":"event","event":{"id":"e3","source":"v2","recipients":["cy"]}})");
  CHECK(s.detection_summaries() == strings{});
  s.then(R"(
{"type":"activation_ended","activation":"v1"}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e4","recipients":["cy"]}]})");
  CHECK(s.detection_summaries() == strings{"repeated_subproblem e4 [e1] inject"});
}

TEST_CASE("repeated_subproblem_judges_only_outputs_of_the_configured_kinds") {
  const auto with = [](const std::string& kinds, const std::string& kind) {
    firing f = answered_twice;
    f.options = R"("kinds":)" + kinds;
    f.last = R"({"type":"activation_ended","activation":"v3","outputs":[{"id":"e5","recipients":["cy"])" + kind + "}]}";
    return play(f).detections.size();
  };
  CHECK(with(R"(["solution"])", R"(,"kind":"solution")") == 1);
  CHECK(with(R"(["solution"])", R"(,"kind":"vote")") == 0);
  CHECK(with(R"(["solution"])", "") == 0);
  CHECK(with("[]", "") == 1);
}

TEST_CASE("repeated_subproblem_follows_modes_and_reports_causes") { check_causes(answered_twice); }

TEST_CASE("a_configured_text_for_repeated_subproblem_may_use_all_its_placeholders") {
  check_text_override(answered_twice, "{event}|{agent}|{work}|{earlier}", R"("e5"|"bob"|"e2"|"ada")");
}

TEST_CASE("of_many_agents_that_answered_before_the_text_names_eight_once_and_counts_the_others") {
  scenario s(R"({"type":"hello","rules":{"repeated_subproblem":{"text":"{earlier}"}}})");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":)" + numbered("p", 13) + "}}");
  const auto answer = [&](int i, const std::string& v, const std::string& outputs) {
    s.then(R"({"type":"activation_started","agent":"p)" + std::to_string(i) + R"(","inputs":["e1"],"activation":")" +
           v + R"("})");
    s.then(R"({"type":"activation_ended","activation":")" + v + "\"" + outputs + "}");
  };
  for (int i = 0; i < 12; ++i) answer(i, "v" + std::to_string(i), "");
  answer(0, "again", "");
  answer(12, "w", R"(,"outputs":[{"id":"e2","recipients":["cy"]}])");
  CHECK(summary(s.only()) == "repeated_subproblem e2 [e1] inject");
  CHECK(injected(s) == R"("p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7" and 4 more)");
}

TEST_CASE("repeated_subproblem_shortens_long_lists_in_text_and_evidence") {
  scenario s(R"({"type":"hello","agents":["ada","bob"]})");
  std::string inputs;
  for (int i = 0; i < 1002; ++i) {
    const std::string id = "\"e" + std::to_string(1000 + i) + '"';
    s.then(R"({"type":"event","event":{"recipients":["ada","bob"],"id":)" + id + "}}");
    inputs += (i > 0 ? "," : "") + id;
  }
  s.then(R"({"type":"activation_started","activation":"v1","agent":"ada","inputs":[)" + inputs + "]}");
  s.then(R"({"type":"activation_ended","activation":"v1"})");
  s.then(R"({"type":"activation_started","activation":"v2","agent":"bob","inputs":[)" + inputs + "]}");
  s.then(R"({"type":"activation_ended","activation":"v2","outputs":[{"id":"x","recipients":["ada"]}]})");
  const detection& d = s.only();
  CHECK(d.evidence_total == 1002);
  REQUIRE(d.evidence.size() == 64);
  CHECK(d.evidence.back() == "e1063");
  CHECK(d.reason.ends_with(R"("e1007" and 994 more.)"));
  CHECK(d.witness.truncated);
  CHECK(d.witness.events.size() + d.witness.activations.size() == 64);
}

TEST_CASE("repeated_subproblem_quotes_names_chosen_by_agents_as_data") {
  const std::string a = json_string(hostile('a')), b = json_string(hostile('b')), e = json_string(hostile('e'));
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"event","event":{"id":)" + e + R"(,"recipients":[)" + a + "," + b + "]}}");
  s.then(R"({"type":"activation_started","activation":"v1","agent":)" + a + R"(,"inputs":[)" + e + "]}");
  s.then(R"({"type":"activation_ended","activation":"v1"})");
  s.then(R"({"type":"activation_started","activation":"v2","agent":)" + b + R"(,"inputs":[)" + e + "]}");
  s.then(R"({"type":"activation_ended","activation":"v2","outputs":[{"id":"x","recipients":["cy"]}]})");
  CHECK(s.only().reason == "The output \"x\" of agent " + hostile_quoted('b') + " answers work that " +
                               hostile_quoted('a') + " answered already: " + hostile_quoted('e') + ".");
  CHECK(s.verdict_on("x").inject.starts_with("The event \"x\" of agent " + hostile_quoted('b') + " answers " +
                                             hostile_quoted('e') + ", which " + hostile_quoted('a') +
                                             " already worked on."));
}

TEST_CASE("the_witness_of_a_repetition_shows_the_work_its_earlier_consumers_and_the_result") {
  const scenario s = play(answered_twice);
  CHECK(nodes(s.only().witness) == "e2 e5 | v2 v3");
  CHECK(edges(s.only().witness) == strings{"e2 > v2 consume", "e2 > v3 consume", "v3 > e5"});
  CHECK(connected(s.only().witness));
}

TEST_CASE("a_repetition_is_cleared_when_the_repeated_result_is_settled") {
  scenario s = play(answered_twice);
  s.then(R"(
{"type":"activation_started","activation":"v4","agent":"cy","inputs":["e5"]}
{"type":"activation_ended","activation":"v4","ts":20})");
  CHECK(s.outcome_summaries() == strings{"repeated_subproblem e5 cleared at 20"});
}

TEST_CASE("a_repetition_recurs_when_the_same_work_is_answered_again_and_is_unresolved_when_the_run_ends_first") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy","dee"]}
{"type":"event","event":{"id":"e1","recipients":["ada","bob","cy"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e2","recipients":["dee"]}],"ts":5}
{"type":"activation_started","activation":"v3","agent":"cy","inputs":["e1"]}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e3","recipients":["dee"]}],"ts":6})");
  CHECK(s.outcome_summaries() == strings{"repeated_subproblem e2 recurred at 6"});
  s.then(R"({"type":"run_ended","outcome":"aborted","ts":9})");
  CHECK(s.outcome_summaries() ==
        strings{"repeated_subproblem e2 recurred at 6", "repeated_subproblem e3 unresolved at 9"});
}

TEST_CASE("two_repeated_results_of_one_message_are_two_detections_and_no_recurrence") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy"]}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"event","event":{"id":"e2","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1","e2"]}
{"type":"activation_ended","activation":"v1"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1","e2"]}
{"type":"activation_ended","activation":"v2","outputs":[)"
             R"({"id":"e3","recipients":["cy"]},{"id":"e4","recipients":["cy"]}]})");
  CHECK(s.detection_summaries() ==
        strings{"repeated_subproblem e3 [e1, e2] inject", "repeated_subproblem e4 [e1, e2] inject"});
  CHECK(s.outcome_summaries() == strings{});
}
