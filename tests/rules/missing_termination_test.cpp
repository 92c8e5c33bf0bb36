// Missing termination (MC): all work is done, nobody is active, and no agent submits an answer.
#include <catch2/catch.hpp>

#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

const firing finished_work{.rule = "missing_termination",
                           .hello = R"("agents":["coder","tester"])",
                           .lines = R"(
{"type":"event","event":{"id":"e1","recipients":["coder"]}}
{"type":"activation_started","activation":"v1","agent":"coder","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e2","recipients":["tester"]}]}
{"type":"activation_started","activation":"v2","agent":"tester","inputs":["e2"]}
{"type":"activation_ended","activation":"v2","ts":100}
)",
                           .last = R"({"type":"time","ts":10100})"};

std::vector<std::string> detections_after(const std::string& hello, const std::string& lines) {
  scenario s(R"({"type":"hello",)" + hello + "}");
  return s.then(lines).detection_summaries();
}

}  // namespace

TEST_CASE("when_all_work_is_done_and_nobody_submits_the_last_agent_to_act_gets_a_system_event") {
  const scenario s = play(finished_work);
  const detection& d = s.only();
  CHECK(summary(d) == "missing_termination @tester [] create");
  CHECK(d.severity == severity::failure);
  CHECK(d.at == std::nullopt);
  CHECK(d.event == std::nullopt);
  CHECK(d.ts == 10100);
  CHECK(d.evidence_total == 0);
  CHECK(d.reason ==
        R"(All work is done, nobody is active, and no answer was submitted; the last to act was agent "tester".)");
  REQUIRE(s.interventions.size() == 1);
  CHECK(s.interventions[0].id == "sys:1");
  CHECK(s.interventions[0].recipients == strings{"tester"});
  CHECK(s.interventions[0].inject ==
        R"(To agent "tester": all reachable work is exhausted and nobody is working, but no final answer was )"
        R"(submitted. You were the last to act: put the results together and submit the final answer now, or send out )"
        R"(what is still missing.)");
  CHECK(s.reachable().empty());
}

TEST_CASE("missing_termination_ignores_near_misses") {
  const std::string roster = R"("agents":["ada","bob"],"rules":{"deadlock":{"mode":"off"}})";
  const std::string acted = R"({"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1"}
)";
  CHECK(detections_after(roster, acted + R"({"type":"time","ts":10000})") ==
        strings{"missing_termination @ada [] create"});
  CHECK(detections_after(roster, acted + R"({"type":"time","ts":9999})") == strings{});
  // No activation has ended, or none since the gap.
  CHECK(detections_after(roster, R"({"type":"time","ts":20000})") == strings{});
  CHECK(detections_after(roster, acted + R"({"type":"gap"}
{"type":"time","ts":20000})") == strings{});
  // Work waits, an agent is active, the answer is submitted, or the run has ended.
  CHECK(detections_after(roster, acted + R"({"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"time","ts":20000})") == strings{});
  CHECK(detections_after(roster, acted + R"({"type":"activation_started","activation":"v2","agent":"bob"}
{"type":"time","ts":20000})") == strings{});
  CHECK(detections_after(roster, acted + R"({"type":"activation_started","activation":"v2","agent":"bob"}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e9","submit":true}]}
{"type":"time","ts":20000})") == strings{});
  CHECK(detections_after(roster, acted + R"({"type":"run_ended","outcome":"success"})") == strings{});
  // After a moment of activity the window starts again.
  CHECK(detections_after(roster, acted + R"({"type":"activation_started","activation":"v2","agent":"bob","ts":9999}
{"type":"activation_ended","activation":"v2","ts":9999}
{"type":"time","ts":19998})") == strings{});
}

TEST_CASE("a_failed_activation_counts_as_ended_and_an_fyi_event_is_no_work") {
  const std::string roster = R"("agents":["ada","bob"])";
  CHECK(detections_after(roster, R"({"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1","failed":true}
{"type":"time","ts":10000})") == strings{"missing_termination @ada [] create"});
  CHECK(detections_after(roster, R"({"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e1","recipients":["bob"],"fyi":true}]}
{"type":"time","ts":10000})") == strings{"missing_termination @ada [] create"});
}

TEST_CASE("after_a_gap_the_window_starts_with_the_next_activation_that_ends") {
  CHECK(detections_after(R"("agents":["ada","bob"],"rules":{"missing_termination":{"window_ms":10}})", R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_started","activation":"v2","agent":"bob"}
{"type":"gap"}
{"type":"activation_ended","activation":"v2","ts":5}
{"type":"time","ts":15})") == strings{"missing_termination @bob [] create"});
}

TEST_CASE("missing_termination_follows_modes_and_reports_causes") { check_causes(finished_work); }

TEST_CASE("missing_termination_is_not_healed_if_the_last_agent_to_act_has_left") {
  CHECK(detections_after(R"("agents":["ada","bob"])", R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1"}
{"type":"agent_left","agent":"ada"}
{"type":"time","ts":10000})") == strings{"missing_termination @ada [] not healed: target"});
}

TEST_CASE("missing_termination_is_healed_three_times_by_default_and_then_only_reported_once") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"rules":{"missing_termination":{"window_ms":10}}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1"}
{"type":"time","ts":1000})");
  CHECK(s.detection_summaries() == strings{"missing_termination @ada [] create", "missing_termination @ada [] create",
                                           "missing_termination @ada [] create",
                                           "missing_termination @ada [] not healed: attempts"});
  CHECK(s.outcome_summaries() == strings{"missing_termination sys:1 recurred at 20",
                                         "missing_termination sys:2 recurred at 30",
                                         "missing_termination sys:3 recurred at 40"});
  // An activation interrupts the condition, so the rule may fire again.
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"ada"}
{"type":"activation_ended","activation":"v2"}
{"type":"time","ts":1010})");
  CHECK(s.detections.size() == 5);
}

TEST_CASE("a_configured_text_for_missing_termination_may_use_its_placeholder") {
  check_text_override(finished_work, "{agent}, finish!", R"("tester", finish!)");
}

TEST_CASE("missing_termination_quotes_names_chosen_by_agents_as_data") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"activation_started","activation":"v1","agent":)" + json_string(hostile('a')) + "}");
  s.then(R"({"type":"activation_ended","activation":"v1"})"
         "\n"
         R"({"type":"time","ts":10000})");
  CHECK(s.only().agent == hostile('a'));
  CHECK(s.only().reason.ends_with("the last to act was agent " + hostile_quoted('a') + "."));
  CHECK(injected(s).starts_with("To agent " + hostile_quoted('a') + ": all reachable"));
  CHECK(injected(s).find('\n') == std::string::npos);
}

TEST_CASE("the_witness_of_missing_termination_shows_the_last_activation_and_its_inputs") {
  const scenario s = play(finished_work);
  CHECK(nodes(s.only().witness) == "e2 | v2");
  CHECK(edges(s.only().witness) == strings{"e2 > v2 consume"});
  CHECK_FALSE(s.only().witness.truncated);

  scenario forgotten = play(finished_work, R"("limits":{"settled_events":0})");
  CHECK(nodes(forgotten.only().witness) == " | ");
}

TEST_CASE("the_witness_of_an_activation_with_many_inputs_is_truncated") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"activation_started","activation":"v1","agent":"ada","inputs":)" + numbered("e", 80) + "}");
  s.then(R"({"type":"activation_ended","activation":"v1"})"
         "\n"
         R"({"type":"time","ts":10000})");
  const witness& w = s.only().witness;
  CHECK(w.truncated);
  CHECK(w.events.size() + w.activations.size() == 64);
  REQUIRE(w.activations.size() == 1);  // the activation that the reason names comes first
  CHECK(w.activations[0].id == "v1");
}

TEST_CASE("missing_termination_is_cleared_when_an_answer_is_let_through_and_unresolved_when_the_run_ends_without_one") {
  scenario s = play(finished_work);
  s.then(R"(
{"type":"activation_started","activation":"v3","agent":"tester","inputs":["sys:1"]}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e9","submit":true}],"ts":10200})");
  CHECK(s.outcome_summaries() == strings{"missing_termination sys:1 cleared at 10200"});

  scenario other = play(finished_work);
  other.then(R"({"type":"run_ended","outcome":"failure","ts":10200})");
  CHECK(other.outcome_summaries() == strings{"missing_termination sys:1 unresolved at 10200"});
}
